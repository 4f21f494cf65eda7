package remote

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A clientCert is a certificate of the user and where it is from.
type clientCert struct {
	tls.Certificate
	file string
}

// String returns what identifies the certificate: its file, its subject and issuer, and its end.
func (c *clientCert) String() string {
	if c.Leaf == nil {
		return c.file
	}
	return fmt.Sprintf("%s (%s, issued by %s, valid until %s)",
		c.file, clean(c.Leaf.Subject.String()), clean(c.Leaf.Issuer.String()), c.Leaf.NotAfter.UTC().Format(time.DateOnly))
}

// clientCerts are the certificates of the user for one host. They record what the host last asked
// for and was sent, which explains why it ends a handshake.
type clientCerts struct {
	list []clientCert

	mu      sync.Mutex
	asked   bool
	sent    *clientCert // nil if none is from an issuer that the host accepts
	issuers []string    // that the host accepts; none if it does not name them
}

// choose implements tls.Config.GetClientCertificate as crypto/tls does without it: it returns the
// first certificate that the host supports.
func (c *clientCerts) choose(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	var sent *clientCert
	for i := range c.list {
		if r.SupportsCertificate(&c.list[i].Certificate) == nil {
			sent = &c.list[i]
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.sent, c.issuers = true, sent, nil
	for _, der := range r.AcceptableCAs {
		var rdn pkix.RDNSequence
		if rest, err := asn1.Unmarshal(der, &rdn); err == nil && len(rest) == 0 && len(c.issuers) < 10 {
			c.issuers = append(c.issuers, clean(rdn.String()))
		}
	}
	if sent == nil {
		return &tls.Certificate{}, nil // none
	}
	return &sent.Certificate, nil
}

// oldTLS returns the message and the hint for a server that supports only old versions of TLS.
func oldTLS(cause error) (message, hint string) {
	return "it does not support TLS 1.2 or later: " + cause.Error(), "enable TLS 1.2 at the server, or at the proxy in front of it"
}

// explain completes the error of a host that ended a handshake with a TLS alert.
func (c *clientCerts) explain(e *Error, alert error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.Message = "it ended the TLS handshake: " + alert.Error()
	switch {
	case alert.Error() == "tls: protocol version not supported":
		e.Message, e.Hint = oldTLS(alert)
		return
	case !c.asked:
		e.Hint = "check that the server supports TLS 1.2 or later with a current cipher suite"
		return
	}
	e.Err = fmt.Errorf("%w: %w", ErrUntrusted, alert)
	switch {
	case len(c.list) == 0:
		e.Hint = fmt.Sprintf("it requires a client certificate: put it into /etc/containers/certs.d/%s/client.cert and client.key", e.Host)
	case c.sent == nil:
		e.Message = "it accepts no client certificate of this issuer: " + c.list[0].String()
		e.Hint = "use a client certificate that one of these issued: " + strings.Join(c.issuers, "; ")
		if len(c.issuers) == 0 {
			e.Hint = "use a client certificate with another kind of key"
		}
	default:
		e.Message = "it does not accept the client certificate " + c.sent.String() + ": " + alert.Error()
		e.Hint = "replace the certificate if it expired or was revoked, or have the server accept its issuer"
	}
}
