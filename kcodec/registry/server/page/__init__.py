"""The pages that a registry's server shows to people: see `kcodec.registry.server.page.app`."""
