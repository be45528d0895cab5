-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
-- tshark -X lua_script:filters.lua -X lua_script1:LIST: of each display filter in LIST, a line each, the
-- numbers of the frames that pass it, as "N FRAME" where N is the number of the line
local n = 0
for filter in io.lines(...) do
	n = n + 1
	local line, listener = n, Listener.new("frame", filter)
	function listener.packet(frame) print(line, frame.number) end
end
