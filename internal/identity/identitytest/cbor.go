package identitytest

import "encoding/binary"

// The few types of CBOR that authenticators write. It is independent of the library that reads them.

func head(major byte, n uint64) []byte {
	switch {
	case n < 24:
		return []byte{major<<5 | byte(n)}
	case n < 1<<8:
		return []byte{major<<5 | 24, byte(n)}
	case n < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{major<<5 | 25}, uint16(n))
	default:
		return binary.BigEndian.AppendUint32([]byte{major<<5 | 26}, uint32(n))
	}
}

func integer(n int) []byte {
	if n < 0 {
		return head(1, uint64(-1-n))
	}
	return head(0, uint64(n))
}

func octets(b []byte) []byte { return append(head(2, uint64(len(b))), b...) }

func text(s string) []byte { return append(head(3, uint64(len(s))), s...) }

// pairs encodes a map of alternating keys and values that are encoded already.
func pairs(items ...[]byte) []byte {
	out := head(5, uint64(len(items)/2))
	for _, item := range items {
		out = append(out, item...)
	}
	return out
}
