"""Tests of the pages."""

import unittest

from pages import page_count, page_of


class Pages(unittest.TestCase):
    def test_full_pages(self):
        self.assertEqual(page_count(10, 5), 2)

    def test_the_last_page_need_not_be_full(self):
        self.assertEqual(page_count(11, 5), 3)

    def test_no_items_need_no_page(self):
        self.assertEqual(page_count(0, 5), 0)

    def test_every_item_is_on_a_page(self):
        self.assertEqual([page_of(at, 5) for at in (0, 4, 5)], [1, 1, 2])


if __name__ == "__main__":
    unittest.main()
