package demo

import (
	"context"
	"fmt"
	"time"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// program is a script, command line or agent with its own token.
type program struct {
	by              int // index into who
	token           string
	scopes          []warranty.Scope
	made, ends      int // days ago, and days from now
	revoked         int // days ago; 0 is never
	door            warranty.Door
	client, address string
	days            string    // load of each day as a digit, today last
	times           int       // requests per digit
	requests        []request // sent in turn
}

// request is a request and its outcome. None changes a record, because the history would
// show it.
type request struct {
	method, route string
	status, ms    int
}

var (
	list     = request{"GET", "/api/v1/warranties", 200, 4}
	get      = request{"GET", "/api/v1/warranties/{id}", 200, 2}
	missing  = request{"GET", "/api/v1/warranties/{id}", 404, 2}
	verify   = request{"GET", "/api/v1/verify/{reference}", 200, 2}
	claims   = request{"GET", "/api/v1/claims", 200, 3}
	noClaims = request{"GET", "/api/v1/claims", 403, 1}
	papers   = request{"GET", "/api/v1/documents", 200, 3}
	status   = request{"GET", "/api/v1/auth/status", 200, 1}
	tool     = request{"POST", "/api/mcp", 200, 6}
	busyTool = request{"POST", "/api/mcp", 429, 1}
	mistaken = request{"POST", "/api/v1/warranties", 422, 2}
	outdated = request{"PUT", "/api/v1/warranties/{id}", 412, 3}
	tooMany  = request{"GET", "/api/v1/warranties", 429, 1}
)

var programs = []program{
	{
		by:       owner,
		token:    "old-nas",
		scopes:   []warranty.Scope{warranty.WarrantiesRead},
		made:     210,
		ends:     155,
		revoked:  11,
		door:     warranty.DoorAPI,
		client:   "curl/8.5.0",
		address:  "203.0.113.24",
		days:     "556556655655655650000000000000",
		times:    1,
		requests: []request{list, list, get, list, tooMany},
	},
	{
		by:       owner,
		token:    "svc-laptop",
		scopes:   []warranty.Scope{warranty.WarrantiesRead, warranty.WarrantiesWrite, warranty.ClaimsRead},
		made:     79,
		ends:     11,
		door:     warranty.DoorCLI,
		client:   "svc/1.0.0",
		address:  "198.51.100.7",
		days:     "010042000013000520001004000321",
		times:    2,
		requests: []request{status, list, get, outdated, list, claims, get, mistaken},
	},
	{
		by:       owner,
		token:    "home-assistant",
		scopes:   []warranty.Scope{warranty.WarrantiesRead},
		made:     64,
		ends:     301,
		door:     warranty.DoorAPI,
		client:   "HomeAssistant/2026.9",
		address:  "203.0.113.24",
		days:     "434344544554465455645565565654",
		times:    2,
		requests: []request{list, get, list, get, get, verify, list, missing, list, get, noClaims},
	},
	{
		by:       owner,
		token:    "claude-laptop",
		scopes:   []warranty.Scope{warranty.WarrantiesRead, warranty.ClaimsRead, warranty.DocumentsRead},
		made:     24,
		ends:     66,
		door:     warranty.DoorMCP,
		client:   "claude-code/2.1.4",
		address:  "198.51.100.7",
		days:     "000000100240003510046200573086",
		times:    2,
		requests: []request{tool, tool, tool, tool, tool, tool, busyTool},
	},
	{
		by:       seller,
		token:    "shop-till",
		scopes:   []warranty.Scope{warranty.WarrantiesRead, warranty.WarrantiesWrite},
		made:     180,
		ends:     185,
		door:     warranty.DoorAPI,
		client:   "till/5.2",
		address:  "192.0.2.40",
		days:     "567890567890667890578890678994",
		times:    3,
		requests: []request{verify, list, verify, get, verify, verify, missing, mistaken},
	},
	{
		by:       seller,
		token:    "claims-desk",
		scopes:   []warranty.Scope{warranty.WarrantiesRead, warranty.ClaimsRead, warranty.DocumentsRead},
		made:     40,
		ends:     50,
		door:     warranty.DoorMCP,
		client:   "svc-mcp/1.0.0",
		address:  "192.0.2.41",
		days:     "111021132021231022302130333122",
		times:    2,
		requests: []request{claims, papers, get, claims, list},
	},
	{
		by:       issuer,
		token:    "erp-sync",
		scopes:   []warranty.Scope{warranty.WarrantiesRead, warranty.WarrantiesWrite},
		made:     320,
		ends:     45,
		door:     warranty.DoorAPI,
		client:   "erp-sync/3.1",
		address:  "192.0.2.200",
		days:     "777770077777007777700777770077",
		times:    3,
		requests: []request{list, get, get, list, get, outdated, get, list, tooMany, get},
	},
}

// programs records the requests of all programs in the last 30 days.
func (t *story) programs(ctx context.Context) error {
	for i, p := range programs {
		if err := t.runProgram(ctx, i, p); err != nil {
			return fmt.Errorf("%s: %w", p.token, err)
		}
	}
	return t.s.FlushUsage(ctx)
}

func (t *story) runProgram(ctx context.Context, seed int, p program) error {
	ends := t.now.AddDate(0, 0, p.ends)
	in := warranty.CreateToken{Name: p.token, ExpiresAt: &ends}
	for _, scope := range p.scopes {
		in.Scopes = append(in.Scopes, string(scope))
	}
	token, err := t.daysAgo(p.made).CreateToken(ctx, t.who[p.by], in)
	if err != nil {
		return err
	}
	who, err := t.s.Authenticate(ctx, token.Secret, true)
	if err != nil {
		return err
	}
	who.Door, who.Address = p.door, p.address
	turn := seed
	for i, digit := range p.days {
		day := t.now.Truncate(24*time.Hour).AddDate(0, 0, i+1-len(p.days))
		count := int(digit-'0') * p.times
		for k := range count {
			// Spread over the waking hours, and none in the future.
			when := day.Add(5*time.Hour + time.Duration(k)*17*time.Hour/time.Duration(count) +
				time.Duration((k*37+i*53+seed*11)%40)*time.Minute +
				time.Duration((k*7919+i*271)%60_000)*time.Millisecond)
			if when.After(t.now) {
				break
			}
			recordRequest(at(t.s, when), who, p.client, p.requests[turn%len(p.requests)], (k*5+i*3)%4)
			turn++
		}
	}
	if p.revoked > 0 {
		_, err = t.daysAgo(p.revoked).RevokeToken(ctx, t.who[p.by], warranty.RevokeToken{ID: token.ID})
	}
	return err
}

// recordRequest records a request as the server does. It took slower more milliseconds
// than r.ms.
func recordRequest(then *service.Service, who warranty.Principal, client string, r request, slower int) {
	then.Used(who)
	then.Record(who, service.RequestInfo{
		Method:    r.method,
		Route:     r.route,
		RequestID: then.NewID().String(),
		Client:    client,
		Status:    r.status,
		Took:      time.Duration(r.ms+slower) * time.Millisecond,
	})
}
