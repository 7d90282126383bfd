package cli

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// addAll adds the flag that lists all pages.
func addAll(cmd *cobra.Command) { cmd.Flags().Bool("all", false, "list all pages") }

// wantsAll reports whether all pages are wanted.
func wantsAll(cmd *cobra.Command) (bool, error) {
	flag := cmd.Flags().Lookup("all")
	if flag == nil || flag.Value.String() != "true" {
		return false, nil
	}
	if cmd.Flags().Changed("page") || cmd.Flags().Changed("limit") {
		return false, usage("--all lists all pages.", "Remove --page and --limit, or --all.")
	}
	return true, nil
}

// walk lists all pages of an operation while the list may change. New records shift others to later
// pages, where they are skipped because they were seen. After deletions it steps back, so that no
// record is missed.
type walk struct {
	in      reflect.Value // the input
	page    int
	total   int64
	back    int // consecutive steps back
	seen    map[string]bool
	records []json.RawMessage
}

// listed is the part of a page that a walk needs.
type listed struct {
	Data       []json.RawMessage   `json:"data"`
	Pagination warranty.Pagination `json:"pagination"`
	Next       *string             `json:"next"`
	SyncedTo   json.RawMessage     `json:"synced_to"`
}

// maxBack bounds the steps back, in case a list keeps shrinking.
const maxBack = 20

// doAll performs a list for every page and returns the result as one page.
func doAll(ctx context.Context, remote *client.Client, op *api.Spec, in any) (any, client.Response, error) {
	w := walk{in: reflect.ValueOf(in).Elem(), page: 1, seen: map[string]bool{}}
	w.in.FieldByName("Limit").SetInt(warranty.MaxLimit)
	for {
		if !w.isFeed() {
			w.in.FieldByName("Page").SetInt(int64(w.page))
		}
		_, response, err := remote.Do(ctx, op, in)
		if err != nil {
			return nil, response, err
		}
		var page listed
		if err := json.Unmarshal(response.Body, &page); err != nil {
			return nil, response, err
		}
		done, err := w.add(page)
		if err != nil {
			return nil, response, err
		}
		if done {
			return w.result(op, response, page)
		}
	}
}

// isFeed reports whether the list is one of changes, which is continued with after.
func (w *walk) isFeed() bool {
	since := w.in.FieldByName("UpdatedSince")
	return since.IsValid() && !since.IsZero()
}

// add adds the new records of a page and reports whether it was the last.
func (w *walk) add(page listed) (done bool, err error) {
	for _, record := range page.Data {
		var id struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(record, &id); err != nil {
			return false, err
		}
		if id.ID == "" {
			id.ID = string(record) // --fields without id
		}
		if !w.seen[id.ID] || w.isFeed() {
			w.seen[id.ID] = true
			w.records = append(w.records, record)
		}
	}
	if w.isFeed() {
		if page.Next == nil {
			return true, nil
		}
		var after warranty.FeedPosition
		err := after.UnmarshalText([]byte(*page.Next))
		w.in.FieldByName("After").Set(reflect.ValueOf(&after))
		return false, err
	}
	gone := w.total - page.Pagination.Total
	w.total = page.Pagination.Total
	if gone > 0 && w.back < maxBack {
		w.back++
		w.page = max(1, w.page-int((gone+warranty.MaxLimit-1)/warranty.MaxLimit))
		return false, nil
	}
	w.back = 0
	w.page++
	return int64(w.page) > page.Pagination.TotalPages, nil
}

// result returns all records as one page.
func (w *walk) result(op *api.Spec, response client.Response, last listed) (any, client.Response, error) {
	all := map[string]any{"data": w.records}
	if w.records == nil {
		all["data"] = []json.RawMessage{}
	}
	if w.isFeed() {
		all["next"], all["synced_to"] = nil, last.SyncedTo
	} else {
		total := int64(len(w.records))
		all["pagination"] = warranty.Pagination{Page: 1, Limit: int(max(total, 1)), Total: total, TotalPages: min(total, 1)}
	}
	body, err := json.Marshal(all)
	if err != nil {
		return nil, response, err
	}
	response.Body = body
	out := reflect.New(op.Out).Interface()
	return out, response, api.ReadJSON(body, out)
}
