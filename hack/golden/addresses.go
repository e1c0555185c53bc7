package main

import (
	"fmt"
	"net/netip"
	"strings"

	netutils "k8s.io/utils/net"
)

// addressCase is one text, and how Kubernetes reads it as an IP address.
type addressCase struct {
	Number int    `json:"number"`
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	// the canonical form; absent if the text is not an address
	Address string `json:"address,omitempty"`
}

func (c *addressCase) setNumber(number int) {
	c.Number = number
}

func (c *addressCase) count(tally map[string]int) {
	verdict := "refused"
	if c.Address != "" {
		verdict = "accepted"
	}
	tally[c.Kind+": "+verdict]++
}

// edges are what random texts are unlikely to hit.
var edges = []string{
	"", ".", ":", "::", ":::", "0", "0.0.0.0", "1.2.3", "1.2.3.", "1.2.3.4.", ".1.2.3.4", "1.2.3.4.5", "1..2.3", "256.1.1.1",
	"255.255.255.255", "010.0001.00000000000000000000000000000001.0", "00000000000000000000000000000000000000256.1.1.1",
	"16777215.1.1.1", "4294967297.1.1.1", "18446744073709551617.1.1.1", "0x10.1.1.1", "1.1.1.1 ", " 1.1.1.1", "+1.1.1.1",
	"-1.1.1.1", "1.1.1.1/24", "1.1.1.1:80", "１.1.1.1", "1.1.1.a", "localhost",
	"0:0:0:0:0:0:0:0", "::0", "0::", "1::", "::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::",
	"::2:3:4:5:6:7:8", "1::3:4:5:6:7:8", "1:2:3:4::5:6:7:8", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1::2::3", ":1::", "1::2:",
	"fe80::1%eth0", "fe80::1%", "[::1]", "::1/128", "::g", "::fffff", "::0ffff", "::00000000000000000000ffff", "0000000000001::",
	"::10000", "::1000000", "::ffffffffffffffffffff", "2001:db8:00001::1", "2001:0DB8::A", "::１", "0x1::", "::+1",
	"::1.2.3.4", "::ffff:1.2.3.4", "::ffff:010.1.2.3", "::ffff:010.01.002.0003", "::ffff:1.2.3", "::ffff:1.2.3.256",
	"::ffff:1.2.3.4.5", "::ffff:1.2.3.4:5", "::ffff:1.2.3.4::", "1.2.3.4::", "::1.2.3.4:1", "1:2:3:4:5:6:1.2.3.4",
	"1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5:1.2.3.4", "::1:2:3:4:5:1.2.3.4", "::2:3:4:5:6:1.2.3.4", "::3:4:5:6:7:8:1.2.3.4",
	"1:2:3:4:5::1.2.3.4", "1:2:3:4:5:6::1.2.3.4", "::a.2.3.4", "::1a.2.3.4", "::1.2.3.a", "::0000001.2.3.4", "::00000ff.2.3.4",
	"::65536.1.1.1", "::99999.1.1.1", "::ffff:0a01:0203", "::FFFF:a01:203", "::0:ffff:1.2.3.4", "0:0:0:0:0:ffff:1.2.3.4", "::1.2:3.4",
	"1:.2.3.4", "::.1.2.3", "64:ff9b::192.0.2.33", "::ffff:0:1.2.3.4", "1:0:0:2:0:0:0:3", "1:0:0:2:3:0:0:4", "1:0:2:3:4:5:6:7",
	"::127.0.0.1", "::ffff:127.0.0.1", "ff02::1", "1\u0000.1.1.1", "::1\n",
}

// playAddresses begins with the edges; everything else is an address in an odd spelling, most of them with a few mistakes.
func playAddresses() func(dice) []line {
	edge := edges
	return func(d dice) []line {
		lines := []line{}
		for _, text := range edge {
			lines = append(lines, readAddress("edge", text))
		}
		edge = nil
		return append(lines, oddAddress(d))
	}
}

func oddAddress(d dice) *addressCase {
	text, kind := spellIPv4(d), "IPv4"
	if d.chance(0.7) {
		text, kind = spellIPv6(d), "IPv6"
	}
	if d.chance(0.5) {
		kind += " with mistakes"
		for range oneOf(d, 1, 1, 1, 2, 3) {
			text = mistake(d, text)
		}
	}
	return readAddress(kind, text)
}

func readAddress(kind, text string) *addressCase {
	read := &addressCase{Kind: kind, Text: text}
	if address := netutils.ParseIPSloppy(text); address != nil {
		read.Address = address.String()
	}
	return read
}

// zeros are what a number may begin with.
func zeros(d dice) string {
	return strings.Repeat("0", oneOf(d, 0, 0, 0, 0, 1, 2, 4, 20))
}

func spellIPv4(d dice) string {
	octets := []string{}
	for range 4 {
		octets = append(octets, zeros(d)+fmt.Sprint(d.IntN(0x100)))
	}
	return strings.Join(octets, ".")
}

// spellIPv6 writes groups of which many are zero, perhaps with an ellipsis for some of them and an IPv4 address at the end.
func spellIPv6(d dice) string {
	groups, last := 8, ""
	if d.chance(0.3) {
		groups, last = 6, spellIPv4(d)
	}
	texts := []string{}
	for range groups {
		group := zeros(d) + fmt.Sprintf(oneOf(d, "%x", "%X", "%04x"), oneOf(d, 0, 0, 0xffff, d.IntN(0x10000), d.IntN(0x100)))
		texts = append(texts, group)
	}
	if last != "" {
		if d.chance(0.4) {
			texts = []string{"0", "0", "0", "0", "0", "ffff"}
		}
		texts = append(texts, last)
	}
	text := strings.Join(texts, ":")
	if d.chance(0.5) {
		// The ellipsis stands for any groups, so that the address is another one.
		from := d.IntN(groups)
		text = strings.Join(texts[:from], ":") + "::" + strings.Join(texts[from+d.between(1, groups-from):], ":")
	}
	if address, err := netip.ParseAddr(text); err == nil && d.chance(0.2) {
		text = address.String()
	}
	return text
}

// mistake inserts, removes, replaces or doubles something.
func mistake(d dice, text string) string {
	const characters = "0123456789abcdefABCDEF::::....gx%/ +-"
	at := d.IntN(len(text) + 1)
	some := characters[d.IntN(len(characters)):][:1]
	switch {
	case len(text) == at || d.chance(0.3):
		return text[:at] + some + text[at:]
	case d.chance(0.3):
		return text[:at] + text[at+1:]
	case d.chance(0.2):
		return text[:at] + text[at:min(at+5, len(text))] + text[at:]
	default:
		return text[:at] + some + text[at+1:]
	}
}
