package doctor

import (
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// Limits of what is fine.
const (
	maxSkew   = 2 * time.Minute
	soonDays  = 30
	dayFormat = "2006-01-02"
)

// Connection returns what a response shows of the network, TLS, the clock and limits of requests.
func Connection(c *remote.Contact) []Finding {
	through := "directly"
	if c.Proxy != "" {
		through = "through the proxy " + c.Proxy
	}
	asks := "; it does not ask for credentials at the root of its API"
	if c.Authentication != "" {
		asks = "; it asks for credentials (" + c.Authentication + ")"
	}
	all := []Finding{{Area: "registry", Name: "connection", State: OK, Text: fmt.Sprintf("reached at %s://%s %s%s", c.Scheme, c.Address, through, asks)}}
	all = append(all, certificate(c)...)
	all = append(all, clock(c))
	limits := Finding{Area: "registry", Name: "limits of requests", State: OK, Text: "none announced"}
	if len(c.Limits) > 0 {
		var texts []string
		for _, name := range slices.Sorted(maps.Keys(c.Limits)) {
			texts = append(texts, fmt.Sprintf("%s: %q", name, c.Limits[name]))
		}
		limits.State, limits.Text = Warning, strings.Join(texts, ", ")
		limits.Remedy = "if runs are slowed down, limit the requests with Options.Limits"
	}
	return append(all, limits)
}

// certificate returns what is known of the chain of certificates.
func certificate(c *remote.Contact) []Finding {
	at := func(name string, state State, text, remedy string) Finding {
		return Finding{Area: "tls", Name: name, State: state, Text: text, Remedy: remedy}
	}
	if c.Scheme == "http" {
		return []Finding{at("encryption", Warning, "none: the registry is reached with plain HTTP, so passwords and content can be read and altered on the way", "configure a certificate in the registry")}
	}
	if len(c.Chain) == 0 {
		return []Finding{at("encryption", Warning, c.TLS+", without certificates", "")}
	}
	var all []Finding
	by := "by a CA of the system"
	if c.TrustedBy != "" {
		by = "by a CA in " + c.TrustedBy
	}
	if c.Verified {
		all = append(all, at("encryption", OK, fmt.Sprintf("%s, certificate of %s from %s, trusted %s", c.TLS, name(c.Chain[0]), c.Chain[0].Issuer, by), ""))
	} else {
		all = append(all, at("encryption", Warning, fmt.Sprintf("%s, certificate of %s from %s, not verified", c.TLS, name(c.Chain[0]), c.Chain[0].Issuer),
			"put the CA into /etc/containers/certs.d/HOST[:PORT]/ca.crt or name its folder in Options.CertDir, and verify certificates"))
	}
	first := slices.MinFunc(c.Chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	left := int(first.NotAfter.Sub(c.Received).Hours() / 24)
	expiry := at("expiry", OK, fmt.Sprintf("the certificate of %s is valid until %s, %d days", name(first), first.NotAfter.UTC().Format(dayFormat), left), "")
	switch {
	case first.NotAfter.Before(c.Received):
		expiry.State, expiry.Remedy = Problem, "replace it in the registry"
		expiry.Text = fmt.Sprintf("the certificate of %s expired on %s", name(first), first.NotAfter.UTC().Format(dayFormat))
	case left < soonDays:
		expiry.State, expiry.Remedy = Warning, "replace it before; clusters then need the new CA, too, if it changes"
	}
	return append(all, expiry)
}

func name(c *x509.Certificate) string {
	switch {
	case len(c.DNSNames) > 0:
		return c.DNSNames[0]
	case len(c.IPAddresses) > 0:
		return c.IPAddresses[0].String()
	}
	return c.Subject.String()
}

// clock compares the clocks of the registry and of this machine.
func clock(c *remote.Contact) Finding {
	f := Finding{Area: "clock", Name: "difference", State: OK}
	if c.Date.IsZero() {
		f.State, f.Text = Skipped, "the registry does not send its time"
		return f
	}
	skew := c.Received.Sub(c.Date).Round(time.Second)
	f.Text = fmt.Sprintf("the clock of this machine and the registry's differ by %s", max(skew, -skew))
	if skew > maxSkew || skew < -maxSkew {
		direction := "ahead of"
		if skew < 0 {
			direction = "behind"
		}
		f.State, f.Text = Warning, fmt.Sprintf("the clock of this machine is %s %s the registry's", max(skew, -skew), direction)
		f.Remedy = "set both clocks with NTP; certificates, tokens and leases depend on them"
	}
	return f
}
