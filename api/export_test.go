package api

// Declared returns every declared operation.
func Declared() []*Spec { return declared }
