"""What can go wrong with a warehouse, in one message that names the file and the mend."""

from __future__ import annotations


class WarehouseError(Exception):
    """The warehouse cannot do what was asked; nothing that was measured is lost."""
