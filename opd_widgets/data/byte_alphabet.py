"""The byte-level alphabet of GPT-2 style tokenizers: printable stand-ins for all 256 bytes.

Source: Radford et al., GPT-2, where bytes that print stand for themselves and the rest are moved above U+0100 in order.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1)
def byte_of_character() -> dict[str, int]:
    """Return the byte each stand-in character means."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(byte): byte for byte in printable}
    moved = (byte for byte in range(256) if byte not in set(printable))
    table.update({chr(0x100 + offset): byte for offset, byte in enumerate(moved)})
    return table


def decode_byte_level(token: str) -> bytes | None:
    """Return the bytes of a byte-level token string; None if it holds a character outside the alphabet."""
    table = byte_of_character()
    if any(char not in table for char in token):
        return None
    return bytes(table[char] for char in token)
