"""Functions over whole buffers, compiled and in plain Python; users call them through the modules of kcodec.wire."""
