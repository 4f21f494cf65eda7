package remote

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A SessionLog remembers upload sessions for the run after one that was killed,
// which could not cancel them. It is called from several goroutines.
type SessionLog interface {
	// Opened tells that repository, such as "host:5000/org/name", has opened a
	// session at location to take a blob. The location may let who knows it write
	// to the session.
	Opened(repository string, blob digest.Digest, location string)
	// Ended tells that the session is complete or cancelled.
	Ended(location string)
}

// LogSessions has the sessions of all further uploads logged. It is called before
// the first.
func (c *Client) LogSessions(log SessionLog) { c.sessions = log }

// CancelUpload asks a registry to forget an upload session that an earlier run
// left open, as its SessionLog has it. One that the registry does not know is no
// error.
func (c *Client) CancelUpload(ctx context.Context, repo reference.Reference, blob digest.Digest, location string) error {
	at, err := c.destination(repo.Repository())
	if err != nil {
		return err
	}
	u := &upload{c: c, at: at, desc: ocispec.Descriptor{Digest: blob}}
	to, err := at.h.target(location, location)
	if err != nil {
		return fmt.Errorf("cancelling an upload to %s: %w", repo.Name(), err)
	}
	u.location, u.noted = to.String(), location
	return u.abandon(ctx)
}

// opened notes that a session is open.
func (u *upload) opened() {
	if u.c.sessions != nil {
		u.noted = u.location
		u.c.sessions.Opened(u.at.ref.Name(), u.desc.Digest, u.noted)
	}
}

// ended notes that the session is no more.
func (u *upload) ended() {
	u.location = ""
	if u.c.sessions != nil && u.noted != "" {
		u.c.sessions.Ended(u.noted)
		u.noted = ""
	}
}
