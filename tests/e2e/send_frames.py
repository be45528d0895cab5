#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""send_frames.py TO NETDEV COUNT SIZE [FROM [vlan]]: numbered frames of ethertype 0x88b5."""
import socket
import sys

target, netdev, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
mac = sys.argv[5] if len(sys.argv) > 5 else "02:00:00:00:00:01"
tag = "8100a064" if len(sys.argv) > 6 else ""
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((netdev, 0))
head = bytes.fromhex((target + mac).replace(":", "") + tag + "88b5")
rest = bytes(size - len(head) - 4)
for i in range(count):
    out.send(head + i.to_bytes(4, "big") + rest)
