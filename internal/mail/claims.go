package mail

import (
	"strings"

	"warranty.example/svc/warranty"
)

// ClaimNews is what happened with a claim. What it says was written by people who have a role on the warranty, for others
// who have one, and is shown as they wrote it.
type ClaimNews struct {
	Claim   warranty.Claim
	From    warranty.ClaimStatus // the former status, if it has changed
	Moved   bool                 // the status has changed, or the claim is new
	By      string               // who did it
	Side    warranty.ClaimSide   // for which side
	Message string               // what they wrote; may be empty
	Earlier []warranty.Message   // what others wrote before and was not emailed, oldest first
}

// kind is the end of the keys of the texts.
func (n ClaimNews) kind() string {
	switch {
	case !n.Moved:
		return "message"
	case n.Claim.Status == warranty.UnderReview && n.Side == warranty.OwnerSide && n.From == warranty.Rejected:
		return "appealed"
	case n.Claim.Status == warranty.UnderReview && n.Side == warranty.OwnerSide:
		return "replied"
	}
	return n.Claim.Status.String()
}

// Decides reports whether it is a decision of a business that the owner waits for.
func (n ClaimNews) Decides() bool {
	if !n.Moved || n.Side != warranty.BusinessSide {
		return false
	}
	switch n.Claim.Status {
	case warranty.Approved, warranty.Rejected, warranty.InfoRequested, warranty.Resolved:
		return true
	}
	return false
}

// ClaimNews tells a person who has roles on a warranty what happened with a claim.
func (t Texts) ClaimNews(to, name string, roles warranty.Roles, n ClaimNews, publicURL string) Message {
	c, owner := n.Claim, roles.Has(warranty.Owner)
	m := t.message("claim_news", to, "", t.greeting(name), t.claimSentence(n), t.claimContent(n), publicURL, c.ID,
		t.part("claim_because."+because(roles)))
	m.Subject = t.get("claim_subject."+n.kind(), t.claimTitle(c, !owner))
	return m
}

// because is the role that a person with roles gets emails for.
func because(roles warranty.Roles) string {
	switch {
	case roles.Has(warranty.Owner):
		return "owner"
	case roles.Has(warranty.Seller):
		return "seller"
	}
	return "issuer"
}

func (t Texts) claimSentence(n ClaimNews) string {
	by := t.plain(n.By, "claim_news."+n.Side.String())
	return t.get("claim_news."+n.kind(), by)
}

// claimContent returns the facts of a claim and what someone wrote about it.
func (t Texts) claimContent(n ClaimNews) blocks {
	c := n.Claim
	list := t.facts(nil, "claim_fact.product", shortened(c.Warranty.ProductName, maxShown))
	if fault := warranty.Fault(c.Description); fault != "" {
		list = t.facts(list, "claim_fact.fault", fault)
	}
	label := "claim_fact.status"
	if n.Decides() {
		label = "claim_fact.decision"
	}
	list = t.facts(list, label, t.get("claim_state."+c.Status.String()))
	if c.Resolution != nil {
		list = t.facts(list, "claim_fact.resolution", t.get("claim_resolution."+c.Resolution.String()))
	}
	if c.ResolutionNote != nil {
		list = t.facts(list, "claim_fact.note", *c.ResolutionNote)
	}
	if c.ReplacementSerialNumber != nil {
		list = t.facts(list, "claim_fact.replacement", *c.ReplacementSerialNumber)
	}
	list = t.facts(list, "claim_fact.number", string(c.ClaimNumber))
	switch {
	case n.Message == "":
	case n.Moved && c.Status == warranty.Submitted:
		list = append(list, t.quoted(t.say("claim_news.happened"), n.Message)...)
	default:
		by := t.plain(n.By, "claim_news."+n.Side.String())
		list = append(list, t.quoted(t.say("claim_news.wrote", by), n.Message)...)
	}
	if len(n.Earlier) > 0 {
		list = append(list, t.part("claim_news.earlier")...)
	}
	return append(list, t.messages(n.Earlier)...)
}

// messages quotes messages, shortened.
func (t Texts) messages(list []warranty.Message) (all blocks) {
	for _, m := range list {
		by := m.Author.Name
		if m.Author.Account != nil {
			by = *m.Author.Account
		}
		by = t.plain(by, "claim_news."+m.Author.Role.String())
		all = append(all, t.quoted(t.say("claim_news.wrote", by), shortened(m.Body, maxGathered))...)
	}
	return all
}

// quoted returns a text that a person wrote, below who wrote it.
func (t Texts) quoted(by words, text string) blocks {
	return blocks{{kind: paragraph, text: by}, {kind: quote, text: typedLines(text)}}
}

// claimTitle names a claim in subjects and lists: by its product and, if wanted, its fault.
func (t Texts) claimTitle(c warranty.Claim, withFault bool) string {
	product := plainOr(shortened(c.Warranty.ProductName, maxTitle), string(c.ClaimNumber))
	fault := titleOf(warranty.Fault(c.Description))
	if !withFault || fault == "" {
		return product
	}
	return t.get("claim_subject.what", product, fault)
}

// The lengths of texts in subjects, in lists and in emails with several messages, in characters.
const (
	maxTitle    = 50
	maxShown    = 300
	maxGathered = 160
)

// titleOf returns a fault for a subject, or "" if it looks like an address.
func titleOf(fault string) string {
	fault = strings.TrimRight(shortened(fault, maxTitle), " .")
	if strings.ContainsAny(fault, "@<>") || strings.Contains(fault, "://") || hasInnerDot(fault) {
		return ""
	}
	return fault
}

// shortened returns a text in one line and at most max characters.
func shortened(text string, most int) string {
	runes := []rune(oneLine(text))
	if len(runes) <= most {
		return string(runes)
	}
	return strings.TrimSpace(string(runes[:most-1])) + "…"
}

// GatheredClaim is a claim with several changes.
type GatheredClaim struct {
	Claim    warranty.Claim
	Messages []warranty.Message // the newest, oldest first
}

// ClaimDigest tells what happened with claims that were not emailed about one by one; more counts those that are not
// listed.
func (t Texts) ClaimDigest(to, name string, list []GatheredClaim, more int, publicURL string) Message {
	var all blocks
	for _, g := range list {
		c := g.Claim
		all = append(all, block{kind: heading, text: typed(t.claimTitle(c, true))})
		status := t.facts(nil, "claim_fact.status", t.get("claim_state."+c.Status.String()))
		all = append(all, t.facts(status, "claim_fact.number", string(c.ClaimNumber))...)
		all = append(all, t.messages(g.Messages)...)
		all = append(all, t.part("claim_digest.entry", publicURL, c.ID)...)
	}
	if more > 0 {
		all = append(all, block{kind: paragraph, text: t.say("more", more)})
	}
	m := t.message("claim_digest", to, "", t.greeting(name), all, publicURL)
	m.Subject = t.get("claim_digest.subject", len(list)+more)
	if len(list)+more == 1 && len(list) == 1 {
		m.Subject = t.get("claim_subject.updated", t.claimTitle(list[0].Claim, true))
	}
	return m
}
