package remote

import (
	"errors"
	"net"

	"github.com/opencontainers/go-digest"
)

// A SessionLog records upload sessions for the run after one that was killed and could not cancel
// them. It is called from several goroutines.
type SessionLog interface {
	// Requested records that repository, such as "host:5000/org/name", gets a request for an upload session for a
	// blob. Until Opened or NotOpened, it may have opened one whose location is unknown.
	Requested(repository string, blob digest.Digest)
	// NotOpened records that it opened no session.
	NotOpened(repository string, blob digest.Digest)
	// Opened records that repository opened a session at location for a blob. The location may allow
	// anyone who knows it to write to the session.
	Opened(repository string, blob digest.Digest, location string)
	// Ended records that the session is complete or canceled.
	Ended(location string)
}

// LogSessions logs the sessions of all further uploads. It must be called before the first.
func (c *Client) LogSessions(log SessionLog) { c.sessions = log }

// requests has r, which asks for a session, recorded when it is sent. The caller calls the function
// that it returns with the error of r, if no session was opened. Unless the error shows that the
// registry responded, or was never reached, it may have opened one.
func (u *upload) requests(r *request) (notOpened func(error)) {
	log := u.c.sessions
	if log == nil {
		return func(error) {}
	}
	repository, blob, sent := u.at.ref.Name(), u.desc.Digest, false
	r.sending = func() {
		if !sent {
			log.Requested(repository, blob)
		}
		sent = true
	}
	return func(err error) {
		var e *Error
		var op *net.OpError
		reached := !errors.As(err, &op) || !dialing(op)
		if sent && (err == nil || !reached || errors.As(err, &e) && e.Status != 0) {
			log.NotOpened(repository, blob)
		}
	}
}

// opened records that a session is open.
func (u *upload) opened() {
	if u.c.sessions != nil {
		u.loggedLocation = u.location
		u.c.sessions.Opened(u.at.ref.Name(), u.desc.Digest, u.loggedLocation)
	}
}

// ended records that the session has ended.
func (u *upload) ended() {
	u.location = ""
	if u.c.sessions != nil && u.loggedLocation != "" {
		u.c.sessions.Ended(u.loggedLocation)
		u.loggedLocation = ""
	}
}
