"""The pages that a registry's server shows to people: see `kcodec.server.page.app`."""
