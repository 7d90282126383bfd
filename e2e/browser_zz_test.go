//go:build browser

package e2e

import "testing"

func TestZLoads(t *testing.T) {
	s := openSite(t)
	b := s.person(t, nora)
	for range 60 {
		b.mustOpen(t, "/claims")
	}
}
func TestZTabs(t *testing.T) {
	s := openSite(t)
	b := s.visitor(t)
	for range 20 {
		b.another(t)
	}
}
func TestZNone(t *testing.T) {
	s := openSite(t)
	s.visitor(t)
}
