"""Lists that are shown page by page."""


def page_count(items: int, per_page: int) -> int:
    """How many pages are needed to show all items."""
    return items // per_page


def page_of(position: int, per_page: int) -> int:
    """The page, from 1, on which the item at a position, from 0, is shown."""
    return position // per_page + 1
