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

// history is a list of steps that showed something, with what they ran on.
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

// replay carries a history out again, one step after the other, and then looks for
// a shorter one that shows the same.
func (b *bench) replay(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var h history
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == h.Scenario })
	if i < 0 {
		return fmt.Errorf("there is no scenario %s", h.Scenario)
	}
	shortest, err := b.shortest(ctx, scenarios[i], h)
	if err != nil {
		return err
	}
	if shortest == nil {
		return errors.New("one step after the other, it does not show again; the seed and the scenario may show it under load")
	}
	fmt.Println("The shortest history that shows it:")
	for _, s := range shortest {
		fmt.Printf("    %s\n", s)
	}
	return fmt.Errorf("%s shows again", h.What)
}

// shortest takes steps away from a history for as long as the rest still shows what
// was found. It is nil if the whole does not show it one step after the other.
func (b *bench) shortest(ctx context.Context, s scenario, h history) ([]step, error) {
	found, err := b.again(ctx, s, h, h.Steps)
	if err != nil || found == nil {
		return nil, err
	}
	shortest := h.Steps
	for changed := true; changed; {
		changed = false
		for i := 0; i < len(shortest) && ctx.Err() == nil; i++ { // or as far as it comes
			fewer := slices.Delete(slices.Clone(shortest), i, i+1)
			if found, err := b.again(ctx, s, h, fewer); err == nil && found != nil {
				shortest, changed = fewer, true
				i--
			}
		}
	}
	return shortest, nil
}

// again carries steps out on a new cluster, and is what was found of the same kind.
func (b *bench) again(ctx context.Context, s scenario, h history, steps []step) (*finding, error) {
	mailbox, err := newMailbox()
	if err != nil {
		return nil, err
	}
	defer mailbox.listener.Close()
	c, err := b.build(ctx, s.shape, mailbox.url())
	if err != nil {
		return nil, err
	}
	defer c.remove()
	t := &town{ctx: ctx, seed: h.Seed, model: newModel(), front: newFront(b.figures, c.urls...), figures: b.figures, mailbox: mailbox}
	if err := t.settle(accounts); err != nil {
		return nil, err
	}
	built := c.starts
	c.probe, t.crashes = t.readAll, func() int { return c.starts - built }
	w, rng := t.newWorker(0), rand.New(rand.NewPCG(h.Seed, 999))
	for _, step := range steps {
		if step.Kind == "fault" {
			if err := s.fault(ctx, c, rng); err != nil {
				return nil, err
			}
			t.model.noteFault(s.name, "")
			continue
		}
		if w.possible(step) {
			w.perform(step)
		}
	}
	if err := t.check(ctx, c); err != nil {
		return nil, err
	}
	for _, f := range t.found() {
		if f.what == h.What {
			return &f, nil
		}
	}
	return nil, nil
}

// possible tells whether a step has what it is about.
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
