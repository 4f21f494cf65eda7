package remote

import (
	"context"
	"net/http"
	"time"

	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// A request is what is sent to a host, once or again after a failure.
type request struct {
	op     string // for errors: "reading the manifest v1"
	kind   string // for Stats
	method string
	repo   string   // repository path at this host; "" for none
	scopes []string // what a token has to allow
	url    string   // absolute; "" if path is set
	path   string   // "/v2/…" below the host
	header http.Header

	body []byte // a small body, or …
	form string // … one that is sent to one address only, or …
	// … a stream of size bytes. It is opened when the request gets a connection.
	open func(context.Context) (*sourceBody, error)
	size int64

	cuts int // of the limit of streams when it is sent

	// hasStream: the caller already has a stream at the host.
	hasStream bool

	// sending, if set, is called before each time that it is sent.
	sending func()

	// grace is for how long an exchange that was sent completely may continue when its context
	// ends: the response saves finding out the result later.
	grace time.Duration

	// storing is for how long the registry may be silent after the last byte of the body; less than
	// for other responses means as long as for these.
	storing time.Duration

	// foreign: the URL is not the registry's API, and its responses may not be meant for the user.
	// do requests it without credentials.
	foreign bool

	// authenticated: the URL is foreign, and the credential is sent to its host, if there is one.
	authenticated bool
	credential    keychain.Credential

	// stays: redirects are not followed.
	stays bool
}

// page reports whether r is for a file, chart, graph or signature at an address that the user or a configuration named.
// A call to the API of a registry's product is none.
func (r *request) page() bool { return r.kind == web && !r.stays }
