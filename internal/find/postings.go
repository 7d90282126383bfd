package find

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/bits"
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
	if !p.moved && len(p.pieces) == 1 {
		return p.patchWords(old, added[0], oldSize)
	}
	for key, data := range old {
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

// patchWords is words if no position moves: most words keep their positions.
func (p plan) patchWords(old Parts, added buckets, oldSize int) ([]Parts, error) {
	changed := newBitmap(len(p.pieces[0]))
	for at, s := range p.pieces[0] {
		if s.change >= 0 {
			changed.set(at)
		}
	}
	result := Parts{}
	for key, data := range old {
		patched, err := patch(data, oldSize, changed, added[key])
		if err != nil {
			return nil, err
		}
		if len(patched) > 0 {
			result[key] = patched
		}
		delete(added, key)
	}
	for key, words := range added {
		result[key] = words.encode()
	}
	return []Parts{result}, nil
}

// patch replaces the changed positions of a part's words by those in added.
func patch(data []byte, size int, changed bitmap, added postings) ([]byte, error) {
	words := slices.Sorted(maps.Keys(added))
	b := make([]byte, 0, len(data)+64)
	addBefore := func(word []byte) { // nil is after all words
		for len(words) > 0 && (word == nil || words[0] < string(word)) {
			b = appendWord(b, words[0], added[words[0]])
			words = words[1:]
		}
	}
	err := eachWord(data, size, func(word []byte, list positions) bool {
		addBefore(word)
		var gained []uint16
		if len(words) > 0 && words[0] == string(word) {
			gained, words = added[words[0]], words[1:]
		}
		if slices.Equal(list.in(changed), gained) {
			b = append(b, list.entry...)
			return true
		}
		var kept []uint16
		list.each(func(i int) {
			if !changed.has(i) {
				kept = append(kept, uint16(i))
			}
		})
		b = appendWord(b, string(word), append(kept, gained...))
		return true
	})
	addBefore(nil)
	return b, err
}

// encode encodes the words in order.
func (p postings) encode() (b []byte) {
	for _, word := range slices.Sorted(maps.Keys(p)) {
		b = appendWord(b, word, p[word])
	}
	return b
}

// appendWord encodes a word with its number of positions and then these: a bitmap where that is
// shorter. Without positions there is no word.
func appendWord(b []byte, word string, list []uint16) []byte {
	if len(list) == 0 {
		return b
	}
	slices.Sort(list)
	b = append(binary.AppendUvarint(b, uint64(len(word))), word...)
	b = binary.AppendUvarint(b, uint64(len(list)))
	if dense := (int(list[len(list)-1]) + 64) / 64; dense*4 <= len(list) {
		b = binary.AppendUvarint(b, uint64(dense))
		set := make(bitmap, dense)
		for _, at := range list {
			set.set(int(at))
		}
		for _, word := range set {
			b = binary.LittleEndian.AppendUint64(b, word)
		}
		return b
	}
	b = binary.AppendUvarint(b, 0)
	for _, at := range list {
		b = binary.LittleEndian.AppendUint16(b, at)
	}
	return b
}

// positions are the encoded positions of a word.
type positions struct {
	dense bool
	data  []byte
	entry []byte // with the word
}

// in returns the positions that a set has too, smallest first.
func (p positions) in(set bitmap) (list []uint16) {
	if !p.dense {
		for i := 0; i < len(p.data); i += 2 {
			if at := binary.LittleEndian.Uint16(p.data[i:]); set.has(int(at)) {
				list = append(list, at)
			}
		}
		return list
	}
	for i := range len(p.data) / 8 {
		for word := binary.LittleEndian.Uint64(p.data[8*i:]) & set[i]; word != 0; word &= word - 1 {
			list = append(list, uint16(64*i+bits.TrailingZeros64(word)))
		}
	}
	return list
}

// each calls fn for each position, smallest first.
func (p positions) each(fn func(int)) {
	if !p.dense {
		for i := 0; i < len(p.data); i += 2 {
			fn(int(binary.LittleEndian.Uint16(p.data[i:])))
		}
		return
	}
	set := make(bitmap, len(p.data)/8)
	for i := range set {
		set[i] = binary.LittleEndian.Uint64(p.data[8*i:])
	}
	for at := range set.forward() {
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
		entry := data
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
		list := positions{dense > 0, data[:length], entry[:len(entry)-len(data)+int(length)]}
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
