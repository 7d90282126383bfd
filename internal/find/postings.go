package find

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
)

// postings are the words of one part, each with its positions.
type postings map[string][]uint16

// buckets are the postings of a segment by key.
type buckets map[string]postings

func (b buckets) add(key, word string, at uint16) {
	if b[key] == nil {
		b[key] = postings{}
	}
	b[key][word] = append(b[key][word], at)
}

// place is a position in one of several segments.
type place struct {
	piece int // -1 for none
	at    uint16
}

// words returns the parts with the words of each piece: those of the old segment at their new
// positions, without the changed records, and the words of these.
func (p plan) words(old Parts, changes []Change, oldSize int) ([]Parts, error) {
	target := make([]place, oldSize)
	for i := range target {
		target[i].piece = -1
	}
	added, result := make([]buckets, len(p.pieces)), make([]Parts, len(p.pieces))
	for n, piece := range p.pieces {
		added[n], result[n] = buckets{}, Parts{}
		for at, s := range piece {
			if s.change < 0 {
				target[s.old] = place{n, uint16(at)}
			} else if r := changes[s.change].Record; r != nil {
				for _, word := range indexedWords(r) {
					added[n].add(bucketOf(word), word, uint16(at))
				}
			}
		}
	}
	for key, data := range old {
		same, err := p.same(data, target)
		if err != nil {
			return nil, err
		}
		if same && added[0][key] == nil {
			result[0][key] = data
			continue
		}
		if err := eachWord(data, oldSize, func(word []byte, list positions) bool {
			list.each(func(i int) {
				if to := target[i]; to.piece >= 0 {
					added[to.piece].add(key, string(word), to.at)
				}
			})
			return true
		}); err != nil {
			return nil, err
		}
	}
	for n := range added {
		for key, words := range added[n] {
			result[n][key] = words.encode()
		}
	}
	return result, nil
}

// same reports whether no position of a part moves or loses its words.
func (p plan) same(data []byte, target []place) (same bool, err error) {
	if p.moved || len(p.pieces) != 1 {
		return false, nil
	}
	same = true
	err = eachWord(data, len(target), func(_ []byte, list positions) bool {
		list.each(func(i int) { same = same && target[i].piece >= 0 })
		return same
	})
	return same, err
}

// encode encodes the words in order, each with its number of positions and then these: a bitmap
// where that is shorter.
func (p postings) encode() (b []byte) {
	for _, word := range slices.Sorted(maps.Keys(p)) {
		list := p[word]
		slices.Sort(list)
		b = append(binary.AppendUvarint(b, uint64(len(word))), word...)
		b = binary.AppendUvarint(b, uint64(len(list)))
		if dense := (int(list[len(list)-1]) + 64) / 64; dense*4 <= len(list) {
			b = binary.AppendUvarint(b, uint64(dense))
			bits := make(bitmap, dense)
			for _, at := range list {
				bits.set(int(at))
			}
			for _, word := range bits {
				b = binary.LittleEndian.AppendUint64(b, word)
			}
			continue
		}
		b = binary.AppendUvarint(b, 0)
		for _, at := range list {
			b = binary.LittleEndian.AppendUint16(b, at)
		}
	}
	return b
}

// positions are the encoded positions of a word.
type positions struct {
	dense bool
	data  []byte
}

// each calls fn for each position, smallest first.
func (p positions) each(fn func(int)) {
	if !p.dense {
		for i := 0; i < len(p.data); i += 2 {
			fn(int(binary.LittleEndian.Uint16(p.data[i:])))
		}
		return
	}
	bits := make(bitmap, len(p.data)/8)
	for i := range bits {
		bits[i] = binary.LittleEndian.Uint64(p.data[8*i:])
	}
	for at := range bits.forward() {
		fn(at)
	}
}

// addTo adds the positions to a set.
func (p positions) addTo(b bitmap) {
	if !p.dense {
		for i := 0; i < len(p.data); i += 2 {
			b.set(int(binary.LittleEndian.Uint16(p.data[i:])))
		}
		return
	}
	for i := 0; i < len(p.data); i += 8 {
		b[i/8] |= binary.LittleEndian.Uint64(p.data[i:])
	}
}

// within reports whether all positions are in a segment of a size.
func (p positions) within(size int) bool {
	if p.dense {
		return len(p.data)/8 <= (size+63)/64
	}
	return len(p.data) == 0 || int(binary.LittleEndian.Uint16(p.data[len(p.data)-2:])) < size
}

// eachWord calls fn for each word of a part of a segment with size positions, in order, until it
// returns false.
func eachWord(data []byte, size int, fn func(word []byte, list positions) bool) error {
	for len(data) > 0 {
		length, n := binary.Uvarint(data)
		if n <= 0 || uint64(len(data)-n) < length {
			return ErrCorrupt
		}
		word := data[n : n+int(length)]
		data = data[n+int(length):]
		count, n := binary.Uvarint(data)
		if n <= 0 {
			return ErrCorrupt
		}
		data = data[n:]
		dense, n := binary.Uvarint(data)
		if n <= 0 {
			return ErrCorrupt
		}
		data = data[n:]
		length = 2 * count
		if dense > 0 {
			length = 8 * dense
		}
		if uint64(len(data)) < length {
			return ErrCorrupt
		}
		list := positions{dense > 0, data[:length]}
		if !list.within(size) {
			return ErrCorrupt
		}
		if !fn(word, list) {
			return nil
		}
		data = data[length:]
	}
	return nil
}

// findPrefix adds the positions of the words of a part that begin with a prefix.
func findPrefix(b bitmap, data []byte, prefix string) error {
	first := []byte(prefix)
	return eachWord(data, 64*len(b), func(word []byte, list positions) bool {
		fits := bytes.HasPrefix(word, first)
		if fits {
			list.addTo(b)
		}
		return fits || bytes.Compare(word, first) < 0
	})
}
