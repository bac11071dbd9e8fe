-- Texts of others, made such that a buffer, a line or a message can hold them.
local M = {}

---Lines of a text, with control characters that a buffer cannot hold made visible.
function M.lines(text)
  return vim.split((text:gsub('\r\n', '\n'):gsub('%z', '␀')), '\n')
end

---A text as one line; its line breaks are made visible.
function M.one_line(text)
  return table.concat(M.lines(text), '␊')
end

-- A character of more than one byte, as UTF-8 has it.
local CHARACTERS = {
  '^[\194-\223][\128-\191]',
  '^\224[\160-\191][\128-\191]',
  '^[\225-\236\238\239][\128-\191][\128-\191]',
  '^\237[\128-\159][\128-\191]',
  '^\240[\144-\191][\128-\191][\128-\191]',
  '^[\241-\243][\128-\191][\128-\191][\128-\191]',
  '^\244[\128-\143][\128-\191][\128-\191]',
}

local function character(bytes, first)
  for _, pattern in ipairs(CHARACTERS) do
    local found = bytes:match(pattern, first)
    if found then
      return found
    end
  end
end

---A text that is UTF-8, as JSON wants it: other bytes are written as `\\xff`.
function M.utf8(text)
  return (
    text:gsub('[\128-\255]+', function(bytes)
      local parts, first = {}, 1
      while first <= #bytes do
        local found = character(bytes, first)
        table.insert(parts, found or ('\\x%02x'):format(bytes:byte(first)))
        first = first + #(found or ' ')
      end
      return table.concat(parts)
    end)
  )
end

return M
