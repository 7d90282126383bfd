package picture

import (
	"bytes"
	"encoding/binary"
)

const exifPrefix = "Exif\x00\x00"

// exifOrientation returns the orientation in Exif data, 1 to 8, or 0 if it has none. In a JPEG the data has a prefix.
func exifOrientation(data []byte) int {
	const orientationTag, short = 0x0112, 3
	tiff := bytes.TrimPrefix(data, []byte(exifPrefix))
	if len(tiff) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	start := int64(order.Uint32(tiff[4:]))
	if start+2 > int64(len(tiff)) {
		return 0
	}
	entries := tiff[start+2:]
	for range order.Uint16(tiff[start:]) {
		if len(entries) < 12 {
			return 0
		}
		if order.Uint16(entries) == orientationTag && order.Uint16(entries[2:]) == short {
			if o := int(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			return 0
		}
		entries = entries[12:]
	}
	return 0
}

// orientationOnly returns Exif data that has an orientation and nothing else.
func orientationOnly(orientation int) []byte {
	return []byte{
		'M', 'M', 0, 42, 0, 0, 0, 8, // the first directory is at byte 8
		0, 1, // it has one entry
		0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, byte(orientation), 0, 0, // orientation, a short
		0, 0, 0, 0, // there is no other directory
	}
}
