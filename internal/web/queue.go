package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// This file is the list of claims as a queue of work, and the way from one claim of it to the next.

// claimList is the page /claims.
type claimList struct {
	form
	Page     warranty.Page[warranty.Claim]
	Photos   map[warranty.ID]warranty.ClaimPhotos
	Counts   warranty.ClaimCounts
	Queue    warranty.ClaimQueue // "" for all claims
	Lanes    []lane
	Chips    []lane
	Sorts    []filter
	Statuses []filter
	Pager    pager
	Business bool // the account decides claims, so that customers and assignees are shown
	Late     int  // how many claims of the page are over the target
	First    bool // there are no claims at all
	Empty    emptyList
	Query    url.Values // of the list, for the links to its claims
	Customer *chip      // the customer whose claims are listed, if it is chosen by its id
	now      time.Time
}

// lane is a link to a part of the claims.
type lane struct {
	Key   string
	Href  string
	Count int64
	On    bool
	Turn  bool // its claims wait for the account
}

// target is how long a claim may wait before it is late.
const target = 3 * 24 * time.Hour

// queueNames are the parameters of the list that a claim's page keeps, to find the next one.
var queueNames = []string{"queue", "q", "customer", "status", "assignee", "replied", "age", "sort"}

// queueOf returns what a query asks for. Values that mean nothing are left out.
func queueOf(query url.Values, size int) (in warranty.ListClaims, kept url.Values) {
	in = warranty.ListClaims{Paging: pagingOf(query, size), Q: query.Get("q"), Customer: query.Get("customer"), Assignee: query.Get("assignee")}
	if queue, err := warranty.ParseEnum[warranty.ClaimQueue](query.Get("queue")); err == nil {
		in.Queue = queue
	}
	if status, err := warranty.ParseEnum[warranty.ClaimStatus](query.Get("status")); err == nil {
		in.Status = status
	}
	if sort, err := warranty.ParseEnum[warranty.ClaimSort](query.Get("sort")); err == nil {
		in.Sort = sort
	}
	in.Replied = query.Get("replied") != ""
	if days, err := strconv.Atoi(query.Get("age")); err == nil {
		in.Age = &days
	}
	if _, err := in.AssigneeOf(warranty.ID{}); err != nil {
		in.Assignee = ""
	}
	probe := in
	if probe.Check() != nil {
		in.Assignee, in.Age = "", nil
	}
	kept = url.Values{}
	for _, name := range queueNames {
		if value := query.Get(name); value != "" {
			kept.Set(name, value)
		}
	}
	return in, kept
}

// Waited returns how long a claim waits, or nil if it waits for nobody.
func (l claimList) Waited(c warranty.Claim) *time.Duration { return waited(c, l.now) }

// Version returns the value of the box of a claim.
func (claimList) Version(c warranty.Claim) string { return claimVersion(c) }

// IsLate reports whether a claim waits for the account longer than the target.
func (l claimList) IsLate(c warranty.Claim) bool {
	return c.Queue == warranty.WaitingForUs && c.WaitingSince != nil && l.now.Sub(*c.WaitingSince) >= target
}

// Link returns the page of a claim, which knows the list that it was opened from.
func (l claimList) Link(c warranty.Claim) string { return claimLink(c.ID, l.Query) }

func claimLink(id warranty.ID, query url.Values) string {
	if len(query) == 0 {
		return "/claims/" + id.String()
	}
	return "/claims/" + id.String() + "?" + query.Encode()
}

// queuePath returns the path of the list with other parameters.
func queuePath(kept url.Values, set ...string) string {
	query := url.Values{}
	for name, values := range kept {
		query[name] = values
	}
	for i := 0; i+1 < len(set); i += 2 {
		if query.Del(set[i]); set[i+1] != "" {
			query.Set(set[i], set[i+1])
		}
	}
	if len(query) == 0 {
		return "/claims"
	}
	return "/claims?" + query.Encode()
}

func (web *Web) claims(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	counts, err := web.Service.CountClaims(r.Context(), who, warranty.CountClaims{})
	if err != nil {
		return err
	}
	in, kept := queueOf(r.URL.Query(), listPage)
	list := claimList{
		form: form{Values: r.URL.Query()}, Counts: counts, Business: who.ActsForOrganization(), now: web.Service.Now(),
	}
	if len(kept) == 0 {
		in.Queue = firstQueue(counts, list.Business)
		kept.Set("queue", in.Queue.String())
	}
	in.Sort = cmp.Or(in.Sort, queueSort(in.Queue))
	list.Queue, list.Query = in.Queue, kept
	if list.Page, err = web.Service.ListClaims(r.Context(), who, in); err != nil {
		return err
	}
	if list.Photos, err = web.Service.ClaimPhotos(r.Context(), who, list.Page.Data); err != nil {
		return err
	}
	for _, c := range list.Page.Data {
		list.Business = list.Business || c.Customer != nil
		if in.Sort == warranty.ClaimsByWaiting && list.IsLate(c) {
			list.Late++
		}
	}
	list.choices(in, kept)
	if name, err := web.chosenCustomer(r, who); err != nil {
		return err
	} else if name != "" {
		list.Customer = &chip{web.t(r, "chip.customer", name), queuePath(kept, "customer", "")}
	}
	list.Pager = newPager(r.URL, list.Page.Pagination)
	if err := web.emptyQueue(r, who, &list, in); err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "nav.claims"), Nav: "claims", Who: who, Flash: view.Flash(r), Body: list}
	if isPart(r) {
		return web.part(w, r, "claims", "rows", v)
	}
	return web.show(w, r, http.StatusOK, "claims", v)
}

// firstQueue is where work begins.
func firstQueue(n warranty.ClaimCounts, business bool) warranty.ClaimQueue {
	for _, queue := range []warranty.ClaimQueue{
		warranty.WaitingForUs, warranty.WaitingForThem, warranty.WorkInProgress, warranty.WorkDone,
	} {
		if n.In(queue) > 0 || business {
			return queue
		}
	}
	return warranty.WaitingForUs
}

// queueSort is the order of a queue: those that wait longest first, and what is done newest first.
func queueSort(queue warranty.ClaimQueue) warranty.ClaimSort {
	switch queue {
	case "":
		return warranty.ClaimsByCreatedAtDesc
	case warranty.WorkDone:
		return warranty.ClaimsByUpdatedAtDesc
	}
	return warranty.ClaimsByWaiting
}

// choices sets the links and filters of the list.
func (l *claimList) choices(in warranty.ListClaims, kept url.Values) {
	side := "person"
	if l.Business {
		side = "business"
	}
	for _, name := range in.Queue.Values() {
		queue := warranty.ClaimQueue(name)
		l.Lanes = append(l.Lanes, lane{
			Key: "queue." + name + "." + side, Href: queuePath(nil, "queue", name), Count: l.Counts.In(queue),
			On: in.Queue == queue, Turn: queue == warranty.WaitingForUs && l.Counts.WaitingForUs > 0,
		})
	}
	if in.Queue == warranty.WaitingForUs {
		if l.Business {
			l.Chips = append(l.Chips,
				l.chip(kept, "claims.mine", l.Counts.Mine, "assignee", warranty.AssignedToMe),
				l.chip(kept, "claims.unassigned", l.Counts.Unassigned, "assignee", warranty.AssignedToNone))
		}
		l.Chips = append(l.Chips, l.chip(kept, "claims.replied."+side, l.Counts.Replied, "replied", "1"))
	}
	for _, name := range in.Sort.Values() {
		l.Sorts = append(l.Sorts, filter{name, "claims_sort." + name, in.Sort.String() == name})
	}
	l.Statuses = append(l.Statuses, filter{"", "claims.any_status", in.Status == ""})
	for _, name := range in.Status.Values() {
		l.Statuses = append(l.Statuses, filter{name, "claim_status." + name, in.Status.String() == name})
	}
}

// chip is a filter that is one click away, and again one click to remove.
func (l *claimList) chip(kept url.Values, key string, count int64, name, value string) lane {
	on := kept.Get(name) == value
	if on {
		value = ""
	}
	return lane{Key: key, Href: queuePath(kept, name, value), Count: count, On: on}
}

// emptyQueue sets what is shown in place of claims.
func (web *Web) emptyQueue(r *http.Request, who warranty.Principal, list *claimList, in warranty.ListClaims) (err error) {
	n := list.Counts
	list.Empty = emptyList{Title: web.t(r, "claims.none"), Help: web.t(r, "claims.none_help"), Clear: web.t(r, "claims.clear")}
	filtered := in.Q != "" || in.Customer != "" || in.Status != "" || in.Assignee != "" || in.Replied || in.Age != nil
	list.First = !filtered && n.WaitingForUs+n.InProgress+n.WaitingForThem+n.Done == 0
	switch {
	case list.First:
		list.Empty = emptyList{First: true, Title: web.t(r, "claims.first"), Help: web.t(r, "claims.first_help"), New: web.t(r, "claim.new")}
		if list.Empty.HasWarranty, err = web.hasWarranty(r, who, ofOwner); err != nil {
			return err
		}
	case !filtered && in.Queue == warranty.WaitingForUs:
		list.Empty = emptyList{Title: web.t(r, "claims.nothing_waits"), Help: web.t(r, "claims.nothing_waits_help")}
	case !filtered:
		list.Empty = emptyList{Title: web.t(r, "claims.none_in_queue")}
	}
	list.Empty.Path, list.Empty.Viewer = r.URL.Path, !who.Account.Role.Includes(warranty.Member)
	return nil
}

// queuePlace is where a claim is in the list that it was opened from.
type queuePlace struct {
	Query          url.Values
	Back           string // the list
	At, Of         int64
	Previous, Next string // pages of claims, or ""
}

// Action returns the address of a form of the claim, which keeps the list.
func (p queuePlace) Action(path, account string) string {
	query := url.Values{"account": {account}}
	for name, values := range p.Query {
		query[name] = values
	}
	return path + "?" + query.Encode()
}

// Self returns the page of a claim that keeps the list.
func (p queuePlace) Self(id warranty.ID) string { return claimLink(id, p.Query) }

// placeOf finds a claim in the list of its page's address.
func (web *Web) placeOf(r *http.Request, who warranty.Principal, id warranty.ID) (p queuePlace, err error) {
	in, kept := queueOf(r.URL.Query(), warranty.MaxLimit)
	p = queuePlace{Query: kept, Back: queuePath(kept)}
	if len(kept) == 0 {
		return p, nil
	}
	in.Sort = cmp.Or(in.Sort, queueSort(in.Queue))
	place, err := web.Service.ClaimPlace(r.Context(), who, in, id)
	p.At, p.Of = place.At, place.Of
	if place.Previous != nil {
		p.Previous = claimLink(*place.Previous, kept)
	}
	if place.Next != nil {
		p.Next = claimLink(*place.Next, kept)
	}
	return p, err
}

// Batch returns how many claims of a longer list one action can change, or 0 if it can change all.
func (l claimList) Batch() int64 {
	if l.Page.Pagination.Total <= warranty.MaxClaimItems {
		return 0
	}
	return warranty.MaxClaimItems
}

// Oldest returns the page of the claim that waits for the account longest, if the list begins with it.
func (l claimList) Oldest() string {
	if l.Queue != warranty.WaitingForUs || len(l.Page.Data) == 0 {
		return ""
	}
	return l.Link(l.Page.Data[0])
}
