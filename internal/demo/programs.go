package demo

import (
	"context"
	"fmt"
	"time"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// program is something that asks with a token of its own: a script, a command
// line, an agent.
type program struct {
	by              int // whose it is: an index into people
	token           string
	scopes          []warranty.Scope
	made, ends      int // days ago, and days from now
	revoked         int // days ago; 0 is never
	door            warranty.Door
	client, address string
	days            string // how busy each day was, a digit each, today last
	times           int    // how many requests a digit is
	asks            []ask  // in turn
}

// ask is a request and its answer. None of them has changed a record, because
// there would be a trace of it.
type ask struct {
	method, route string
	status, ms    int
}

var (
	list     = ask{"GET", "/api/v1/warranties", 200, 4}
	get      = ask{"GET", "/api/v1/warranties/{id}", 200, 2}
	missing  = ask{"GET", "/api/v1/warranties/{id}", 404, 2}
	verify   = ask{"GET", "/api/v1/verify/{reference}", 200, 2}
	claims   = ask{"GET", "/api/v1/claims", 200, 3}
	noClaims = ask{"GET", "/api/v1/claims", 403, 1}
	papers   = ask{"GET", "/api/v1/documents", 200, 3}
	status   = ask{"GET", "/api/v1/auth/status", 200, 1}
	tool     = ask{"POST", "/api/mcp", 200, 6}
	busyTool = ask{"POST", "/api/mcp", 429, 1}
	mistaken = ask{"POST", "/api/v1/warranties", 422, 2}
	outdated = ask{"PUT", "/api/v1/warranties/{id}", 412, 3}
	tooMany  = ask{"GET", "/api/v1/warranties", 429, 1}
)

var programs = []program{
	{owner, "old-nas", []warranty.Scope{warranty.WarrantiesRead}, 210, 155, 11, warranty.DoorAPI, "curl/8.5.0", "203.0.113.24",
		"556556655655655650000000000000", 1, []ask{list, list, get, list, tooMany}},
	{owner, "svc-laptop", []warranty.Scope{warranty.WarrantiesRead, warranty.WarrantiesWrite, warranty.ClaimsRead}, 79, 11, 0, warranty.DoorCLI, "svc/0.1.0", "198.51.100.7",
		"010042000013000520001004000321", 2, []ask{status, list, get, outdated, list, claims, get, mistaken}},
	{owner, "home-assistant", []warranty.Scope{warranty.WarrantiesRead}, 64, 301, 0, warranty.DoorAPI, "HomeAssistant/2026.9", "203.0.113.24",
		"434344544554465455645565565654", 2, []ask{list, get, list, get, get, verify, list, missing, list, get, noClaims}},
	{owner, "claude-laptop", []warranty.Scope{warranty.WarrantiesRead, warranty.ClaimsRead, warranty.DocumentsRead}, 24, 66, 0, warranty.DoorMCP, "claude-code/2.1.4", "198.51.100.7",
		"000000100240003510046200573086", 2, []ask{tool, tool, tool, tool, tool, tool, busyTool}},

	{seller, "shop-till", []warranty.Scope{warranty.WarrantiesRead, warranty.WarrantiesWrite}, 180, 185, 0, warranty.DoorAPI, "till/5.2", "192.0.2.40",
		"567890567890667890578890678994", 3, []ask{verify, list, verify, get, verify, verify, missing, mistaken}},
	{seller, "claims-desk", []warranty.Scope{warranty.WarrantiesRead, warranty.ClaimsRead, warranty.DocumentsRead}, 40, 50, 0, warranty.DoorMCP, "svc-mcp/0.1.0", "192.0.2.41",
		"111021132021231022302130333122", 2, []ask{claims, papers, get, claims, list}},

	{issuer, "erp-sync", []warranty.Scope{warranty.WarrantiesRead, warranty.WarrantiesWrite}, 320, 45, 0, warranty.DoorAPI, "erp-sync/3.1", "192.0.2.200",
		"777770077777007777700777770077", 3, []ask{list, get, get, list, get, outdated, get, list, tooMany, get}},
}

// programs lets everybody's programs do what they did in the last 30 days.
func (t *story) programs(ctx context.Context) error {
	for i, p := range programs {
		if err := t.run(ctx, i, p); err != nil {
			return fmt.Errorf("%s: %w", p.token, err)
		}
	}
	return t.s.FlushUsage(ctx)
}

func (t *story) run(ctx context.Context, seed int, p program) error {
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
			when := day.Add(5*time.Hour + time.Duration(k)*17*time.Hour/time.Duration(count) + time.Duration((k*37+i*53+seed*11)%40)*time.Minute + time.Duration((k*7919+i*271)%60_000)*time.Millisecond)
			if when.After(t.now) {
				break
			}
			answer(at(t.s, when), who, p.client, p.asks[turn%len(p.asks)], (k*5+i*3)%4)
			turn++
		}
	}
	if p.revoked > 0 {
		_, err = t.daysAgo(p.revoked).RevokeToken(ctx, t.who[p.by], warranty.RevokeToken{ID: token.ID})
	}
	return err
}

// answer records a request as the server does that has answered it.
func answer(then *service.Service, who warranty.Principal, client string, a ask, slower int) {
	then.Used(who)
	then.Record(who, service.Answered{Method: a.method, Route: a.route, RequestID: then.NewID().String(), Client: client, Status: a.status,
		Took: time.Duration(a.ms+slower) * time.Millisecond})
}
