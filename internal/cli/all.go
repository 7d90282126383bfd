package cli

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/pages"
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

// listed is the part of a page that is needed to read all of them.
type listed struct {
	Data       []json.RawMessage   `json:"data"`
	Pagination warranty.Pagination `json:"pagination"`
	Next       *string             `json:"next"`
	SyncedTo   json.RawMessage     `json:"synced_to"`
}

// doAll performs a list for every page and returns the result as one page. Lists of changes are
// continued with after; their records may be repeated.
func doAll(ctx context.Context, remote *client.Client, op *api.Spec, in any) (any, client.Response, error) {
	input := reflect.ValueOf(in).Elem()
	fields := api.Selected(in)
	if fields != nil { // the walk needs the ids
		input.FieldByName("Fields").SetString(strings.Join(append(slices.Clone(fields), "id"), ","))
		defer input.FieldByName("Fields").SetString(strings.Join(fields, ","))
	}
	var walk pages.Walk
	var all []json.RawMessage
	for done := false; !done; {
		input.FieldByName("Limit").SetInt(warranty.MaxLimit)
		if page := input.FieldByName("Page"); page.IsValid() && !isFeed(input) {
			paging := walk.Paging()
			page.SetInt(int64(paging.Page))
			input.FieldByName("Limit").SetInt(int64(paging.Limit))
		}
		_, response, err := remote.Do(ctx, op, in)
		if err != nil {
			return nil, response, err
		}
		var page listed
		if err := json.Unmarshal(response.Body, &page); err != nil {
			return nil, response, err
		}
		if page.SyncedTo != nil {
			all = append(all, page.Data...)
			done, err = proceed(input, page.Next)
		} else {
			var fresh []int
			fresh, done, err = addPage(&walk, page)
			for _, i := range fresh {
				all = append(all, page.Data[i])
			}
		}
		if err != nil {
			return nil, response, err
		}
		if done {
			return allOf(op, response, page, all, fields)
		}
	}
	panic("unreachable")
}

// isFeed reports whether a list is one of changes, which has no page numbers.
func isFeed(input reflect.Value) bool {
	since := input.FieldByName("UpdatedSince")
	return since.IsValid() && !since.IsZero()
}

// proceed sets after to the next page of a list of changes and reports whether there is none.
func proceed(input reflect.Value, next *string) (done bool, err error) {
	if next == nil {
		return true, nil
	}
	var after warranty.FeedPosition
	err = after.UnmarshalText([]byte(*next))
	input.FieldByName("After").Set(reflect.ValueOf(&after))
	return false, err
}

// addPage returns the indexes of the new records of a page, and whether it is the last.
func addPage(walk *pages.Walk, page listed) (fresh []int, done bool, err error) {
	ids := make([]string, len(page.Data))
	for i, record := range page.Data {
		var id struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(record, &id); err != nil {
			return nil, false, err
		}
		ids[i] = id.ID
	}
	fresh, done = walk.Add(ids, page.Pagination.Total)
	return fresh, done, nil
}

// allOf returns all records as one page, with the selected fields or all.
func allOf(
	op *api.Spec, response client.Response, last listed, records []json.RawMessage, fields []string,
) (any, client.Response, error) {
	if records == nil {
		records = []json.RawMessage{}
	}
	all := map[string]any{"data": records}
	if last.SyncedTo != nil {
		all["next"], all["synced_to"] = nil, last.SyncedTo
	} else {
		total := int64(len(records))
		all["pagination"] = warranty.Pagination{Page: 1, Limit: int(max(total, 1)), Total: total, TotalPages: min(total, 1)}
	}
	body, err := json.Marshal(all)
	if err == nil && fields != nil {
		body, err = api.Pick(body, fields)
	}
	if err != nil {
		return nil, response, err
	}
	response.Body = body
	out := reflect.New(op.Out).Interface()
	return out, response, api.ReadJSON(body, out)
}
