package archive

// NewSeal returns the end of a backup with a checksum.
var NewSeal = newSeal
