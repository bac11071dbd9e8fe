"""The kinds of nodes in the tree of a command line, and what they are to the walk."""

from typing import Final

from magent_lsp.permissions.tables import set_of

KNOWN: Final = set_of("""
    program list pipeline command command_name word string string_content raw_string ansi_c_string
    translated_string concatenation simple_expansion expansion command_substitution process_substitution
    redirected_statement file_redirect heredoc_redirect heredoc_start heredoc_body heredoc_content
    heredoc_end herestring_redirect subshell compound_statement negated_command test_command
    if_statement elif_clause else_clause while_statement for_statement c_style_for_statement do_group
    case_statement case_item comment number variable_assignment variable_assignments variable_name
    special_variable_name declaration_command unset_command file_descriptor test_operator
    binary_expression unary_expression ternary_expression postfix_expression parenthesized_expression
    arithmetic_expansion subscript array regex extglob_pattern brace_expression function_definition
""")
SCOPES: Final = frozenset({"subshell", "command_substitution", "process_substitution", "pipeline"})
LEVELS: Final = SCOPES - {"pipeline"} | {
    "compound_statement",
    "if_statement",
    "while_statement",
    "for_statement",
    "c_style_for_statement",
    "case_statement",
    "function_definition",
    "expansion",
    "arithmetic_expansion",
    "parenthesized_expression",
    "test_command",
}
BLOCKS: Final = frozenset(
    {"program", "compound_statement", "subshell", "do_group", "if_statement", "elif_clause", "else_clause"}
    | {"case_item", "command_substitution", "process_substitution", "while_statement"}
)
STRUCTURE: Final = set_of("""
    program list pipeline command redirected_statement subshell compound_statement negated_command do_group
    if_statement elif_clause else_clause while_statement for_statement case_statement case_item
    command_substitution process_substitution declaration_command unset_command file_redirect
    function_definition
""")
"""Nodes whose parts must cover them."""
KEYWORDS: Final = set_of("""
    if then elif else fi do done while until for select case esac in { } ! function [[ ]]
""")
"""Reserved words: where the parser takes one for a command, it has read the line otherwise than the shell."""
SEEN: Final = set_of("""
    raw_string ansi_c_string comment heredoc_body heredoc_start heredoc_end $( ` ${ $(( $[
""")
"""Leaves in which a substitution is text or is looked for elsewhere, and those that begin one."""
BRANCHES: Final = frozenset({"if_statement", "case_statement"})
REPEATED: Final = frozenset(
    {"while_statement", "for_statement", "c_style_for_statement", "function_definition"}
)
