package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// history is a list of steps that led to a finding, with their scenario.
type history struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	What     string `json:"what"`
	Steps    []step `json:"steps"`
}

func writeHistory(file, scenario string, seed uint64, f finding) error {
	text, err := json.MarshalIndent(history{Scenario: scenario, Seed: seed, What: f.what, Steps: f.history}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// replay performs a history step by step, and then looks for a shorter one with the
// same kind of finding.
func (h *harness) replay(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var old history
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == old.Scenario })
	if i < 0 {
		return fmt.Errorf("unknown scenario %s", old.Scenario)
	}
	shortest, err := h.shortest(ctx, scenarios[i], old)
	if err != nil {
		return err
	}
	if shortest == nil {
		return errors.New("a sequential replay does not reproduce it; run the scenario with the seed")
	}
	fmt.Println("The shortest history that reproduces it:")
	for _, s := range shortest {
		fmt.Printf("    %s\n", s)
	}
	return fmt.Errorf("reproduced: %s", old.What)
}

// shortest removes steps from a history while the rest still reproduces the finding. It
// returns nil if the whole history does not reproduce it.
func (h *harness) shortest(ctx context.Context, s scenario, old history) ([]step, error) {
	found, err := h.again(ctx, s, old, old.Steps)
	if err != nil || found == nil {
		return nil, err
	}
	shortest := old.Steps
	for changed := true; changed; {
		changed = false
		for i := 0; i < len(shortest) && ctx.Err() == nil; i++ { // a timeout returns the result so far
			fewer := slices.Delete(slices.Clone(shortest), i, i+1)
			if found, err := h.again(ctx, s, old, fewer); err == nil && found != nil {
				shortest, changed = fewer, true
				i--
			}
		}
	}
	return shortest, nil
}

// again performs steps on a new cluster and returns a finding of the same kind, or nil.
func (h *harness) again(ctx context.Context, s scenario, old history, steps []step) (*finding, error) {
	l, c, remove, err := h.newWorkload(ctx, s, old.Seed)
	if err != nil {
		return nil, err
	}
	defer remove()
	w, rng := l.newWorker(0), rand.New(rand.NewPCG(old.Seed, 999))
	for _, step := range steps {
		if step.Kind == "fault" {
			if err := s.fault(ctx, c, rng); err != nil {
				return nil, err
			}
			l.model.noteFault(s.name, "")
			continue
		}
		if w.possible(step) {
			w.perform(step)
		}
	}
	if err := l.check(ctx, c); err != nil {
		return nil, err
	}
	for _, f := range l.found() {
		if f.what == old.What {
			return &f, nil
		}
	}
	return nil, nil
}

// possible reports whether the subject of a step exists.
func (w *worker) possible(s step) bool {
	switch s.Kind {
	case "create", "token":
		return true
	case "use", "revoke":
		return w.tokenOf(&s) != nil
	}
	r := w.recordOf(&s)
	return r != nil && r.exists()
}
