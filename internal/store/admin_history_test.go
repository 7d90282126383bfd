package store

import (
	"strings"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestOperatorHistoryHasOnlyOperators records every action of a member and of a command, and reads what operators
// did: their actions, and nothing that people did in their own accounts. It reads no other events either.
func TestOperatorHistoryHasOnlyOperators(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ada, want := newOwner(t, s), map[warranty.Action]int{}
		for _, name := range warranty.Action("").Values() {
			for _, door := range []warranty.Door{warranty.DoorWeb, warranty.DoorOperator} {
				action := warranty.Action(name)
				byPerson := action != warranty.AccountFactorsReset && strings.HasPrefix(name, "account.") // only commands reset them
				if door == warranty.DoorOperator || byPerson || strings.HasPrefix(name, "mail.") {
					want[action]++
				}
				e := warranty.Event{ID: newID(), At: time.Now(), Actor: "Ada", ActorID: ada.user, Door: door, Action: action, SubjectID: newID()}
				ada.must(func(tx *Tx) error { return tx.InsertEvent(ada.user, e) })
			}
		}
		list, total, err := s.OperatorHistory(t.Context(), warranty.Paging{Page: 1, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if int(total) != len(list) {
			t.Errorf("%d events of %d", len(list), total)
		}
		for _, e := range list {
			want[e.Action]--
		}
		for action, n := range want {
			if n != 0 {
				t.Errorf("%s: %d too few", action, n)
			}
		}
		ada.must(func(tx *Tx) error {
			for range 2000 {
				e := warranty.Event{ID: newID(), At: time.Now(), Actor: "Ada", ActorID: ada.user, Door: warranty.DoorWeb, Action: warranty.ClaimMessaged, SubjectID: newID()}
				if err := tx.InsertEvent(ada.user, e); err != nil {
					return err
				}
			}
			return tx.later(`ANALYZE`)
		})
		if plan := planOf(t, s, `SELECT count(*) FROM history h WHERE `+byOperators); !strings.Contains(plan, "history_by_operators") {
			t.Error(plan)
		}
	})
}
