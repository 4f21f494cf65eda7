package mirroring

import (
	"cmp"

	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// auditResult records what a run did, and its end.
func auditResult(s *workspace.Session, r *state.Run, g *gates.GateResult, result *Result) {
	end := audit.Entry{Event: audit.RunEnded, Name: r.Name, Digest: r.Plan.String(), Result: string(r.Result), Images: r.Images, Copied: r.Copied, Failed: r.Failed, Message: r.Message}
	var entries []audit.Entry
	if result != nil {
		entries = append(entries, auditSignatures(result.Verified)...)
	}
	if result != nil && result.Report != nil {
		end.Bytes = result.Report.BytesCopied
		entries = append(entries, auditReport(result.Report)...)
	}
	entries = append(entries, auditGate(g)...)
	s.Audit(append(entries, end)...)
}

// auditSignatures returns an entry for each signer, and one for images for which the policy requires no signature.
func auditSignatures(v *trust.VerifiedSignatures) (entries []audit.Entry) {
	if v == nil {
		return nil
	}
	for _, signed := range v.Signed {
		entries = append(entries, audit.Entry{Event: audit.Verified, Subject: v.Policy, Digest: v.Digest.String(), By: signed.Type + " " + signed.Name, Images: signed.Images, Result: "accepted"})
	}
	if v.Unsigned > 0 {
		entries = append(entries, audit.Entry{Event: audit.Verified, Subject: v.Policy, Digest: v.Digest.String(), Images: v.Unsigned, Result: "accepted without verification"})
	}
	if v.Refused > 0 {
		entries = append(entries, audit.Entry{Event: audit.Verified, Subject: v.Policy, Digest: v.Digest.String(), Images: v.Refused, Result: "refused"})
	}
	return entries
}

// auditGate returns an entry for how many images a gate accepted, and one for each that it did not.
func auditGate(g *gates.GateResult) (entries []audit.Entry) {
	if g == nil {
		return nil
	}
	if g.Accepted > 0 {
		entries = append(entries, audit.Entry{Event: audit.Gate, By: g.Program, Images: g.Accepted, Result: "accepted"})
	}
	for i, a := range g.Answers {
		if i == workspace.MaxAuditedImages {
			break // the images that are not mirrored are counted
		}
		e := audit.Entry{Event: audit.Gate, By: g.Program, Subject: a.Reference, Digest: a.Digest.String(), Result: "refused", Message: a.Reason}
		if a.Error != "" {
			e.Result, e.Message = "failed", a.Error
		}
		entries = append(entries, e)
	}
	return entries
}

// auditReport returns entries for what was published, withheld or failed.
func auditReport(r *mirror.Report) (entries []audit.Entry) {
	for _, img := range r.New {
		whole, ok := img.Publishable()
		if !ok {
			continue
		}
		entries = append(entries, audit.Entry{Event: publishedEvent(whole), Subject: nameOf(whole), Digest: img.Digest.String()})
	}
	for _, w := range r.Withheld {
		entries = append(entries, audit.Entry{Event: audit.Withheld, Subject: nameOf(w.Publishable()), Failed: len(w.Missing)})
	}
	for i, f := range r.Failed {
		if i == workspace.MaxAuditedImages {
			entries = append(entries, audit.Entry{Event: audit.ImageFailed, Failed: len(r.Failed) - i, Message: "more images failed, which are not listed"})
			break
		}
		entries = append(entries, audit.Entry{Event: audit.ImageFailed, Subject: f.Source, Message: f.Reason})
	}
	return entries
}

func publishedEvent(p plan.Publishable) audit.Event {
	if p.Release != "" {
		return audit.ReleasePublished
	}
	return audit.CatalogPublished
}

func nameOf(p plan.Publishable) string {
	return cmp.Or(p.Release, p.Catalog)
}
