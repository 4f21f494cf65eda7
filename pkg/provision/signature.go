package provision

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// A signing is what a signature of AWS is made of, beside the header.
type signing struct {
	method          string
	url             *url.URL
	payload         string // SHA-256 of the body, in hexadecimal digits
	region, service string
	at              time.Time
	keys            keychain.Credential // access key, secret key, session token
}

// sign adds X-Amz-Date, X-Amz-Security-Token if there is a session token, and Authorization to a header, all of
// which is signed.
//
// Source: AWS Signature Version 4 for API requests, in the AWS Identity and Access Management User Guide. The
// path and the query are expected to be encoded as the signature requires: paths of one slash, and queries with
// letters, digits, hyphens, underscores, periods and tildes.
func sign(h http.Header, s signing) {
	stamp := s.at.UTC().Format("20060102T150405Z")
	h.Set("X-Amz-Date", stamp)
	if s.keys.RegistryToken != "" {
		h.Set("X-Amz-Security-Token", s.keys.RegistryToken)
	}
	names := []string{"host"}
	for name := range h {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		value := h.Get(name)
		if name == "host" {
			value = s.url.Host
		}
		headers.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	signed := strings.Join(names, ";")
	request := strings.Join([]string{s.method, s.url.EscapedPath(), s.url.Query().Encode(), headers.String(), signed, s.payload}, "\n")
	scope := strings.Join([]string{stamp[:8], s.region, s.service, "aws4_request"}, "/")
	sum := sha256.Sum256([]byte(request))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + s.keys.Password)
	for part := range strings.SplitSeq(scope, "/") {
		key = keyed(key, part)
	}
	h.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s.keys.Username+"/"+scope+", SignedHeaders="+signed+", Signature="+hex.EncodeToString(keyed(key, text)))
}

// keyed returns the HMAC of a text.
func keyed(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}
