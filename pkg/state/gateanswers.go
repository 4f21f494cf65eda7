package state

import (
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// gateFile has the images that a gate accepted.
const gateFile = "gate.json"

// gateAnswers is the content of gateFile. A workspace remembers one program at a time.
type gateAnswers struct {
	Program  digest.Digest        `json:"program"`
	Accepted map[string]time.Time `json:"accepted"`
}

// GateAccepted returns the images that a program accepted, with the times of the answers. The program is identified by the
// digest of its file.
func (w *Workspace) GateAccepted(program digest.Digest) (map[string]time.Time, error) {
	var answers gateAnswers
	if _, err := w.readJSON(gateFile, &answers); err != nil {
		return nil, advice.Wrap(advice.KindOf(err), err, "remove it; the gate is then asked about every image")
	}
	if answers.Program != program {
		return nil, nil
	}
	return answers.Accepted, nil
}

// SaveGateAccepted replaces the images that a program accepted.
func (w *Workspace) SaveGateAccepted(program digest.Digest, accepted map[string]time.Time) error {
	return w.saveJSON(gateFile, gateAnswers{program, accepted})
}
