"""Single values in binary for compiled code: varints, fixed-width numbers, decimals, frames, checksums."""
