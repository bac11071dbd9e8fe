"""`python -m magent_lsp`, the same as `magent-lsp`."""

from magent_lsp.cli import main

if __name__ == "__main__":
    main()
