package gates

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// A readMemory has the images that the gate accepted in earlier runs. Nil remembers nothing.
type gateMemory struct {
	session *workspace.Session
	// program is the digest of the program: another version is asked again.
	program  digest.Digest
	accepted map[string]time.Time
	now      time.Time
	valid    time.Duration
}

// readMemory reads what the workspace remembers of the gate.
func readMemory(s *workspace.Session, g *Programs) (*gateMemory, error) {
	if g.GateValid == 0 {
		return nil, nil
	}
	f, _, err := regular.OpenPath(g.image.Path())
	if err != nil {
		return nil, fmt.Errorf("Options.Gate: %w", err)
	}
	sum := digest.SHA256.Digester()
	_, err = io.Copy(sum.Hash(), f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("Options.Gate: %w", err)
	}
	m := &gateMemory{session: s, program: sum.Digest(), now: time.Now().UTC().Truncate(time.Second), valid: g.GateValid}
	m.accepted, err = s.GateAccepted(m.program)
	return m, err
}

// has reports whether the gate accepted an image, and the answer is still valid.
func (m *gateMemory) has(image string, d digest.Digest) bool {
	if m == nil {
		return false
	}
	at, ok := m.accepted[trust.JudgedName(image, d)]
	age := m.now.Sub(at)
	return ok && age >= 0 && age < m.valid // a clock may have gone backwards
}

// keep adds the images that the gate accepted now, and forgets those that are no longer valid.
func (m *gateMemory) keep(questions []*gateQuestion) error {
	if m == nil {
		return nil
	}
	accepted := map[string]time.Time{}
	for key, at := range m.accepted {
		if age := m.now.Sub(at); age >= 0 && age < m.valid {
			accepted[key] = at
		}
	}
	for _, q := range questions {
		key := trust.JudgedName(q.Image, q.Digest)
		switch {
		case q.err != nil || !q.answer.Accepted:
			delete(accepted, key)
		case !q.remembered:
			accepted[key] = m.now
		}
	}
	return m.session.SaveGateAccepted(m.program, accepted)
}
