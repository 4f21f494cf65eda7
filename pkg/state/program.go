package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// programFile has what a program reproduces, which takes a second to find out.
const programFile = "program.json"

// A programRecord is the JSON of programFile.
type programRecord struct {
	// Program identifies the program: another build may compress in another way.
	Program     string   `json:"program"`
	Compressors []string `json:"compressors"`
}

// Compressors returns what find found the last time for the running program, and calls it if that is not known. A
// workspace that cannot keep it is no error.
func (w *Workspace) Compressors(find func() []string) []string {
	program := runningProgram()
	var r programRecord
	if text, err := w.readState(programFile); err == nil && json.Unmarshal(text, &r) == nil && r.Program == program && program != "" {
		return r.Compressors
	}
	found := find()
	if text, err := json.Marshal(programRecord{program, found}); err == nil && program != "" {
		_ = w.keepText(programFile, append(text, '\n')) // it is found again then
	}
	return found
}

// runningProgram identifies the file of the running program by its path, size and time, "" if that is not known.
func runningProgram() string {
	path, err := os.Executable()
	info, statErr := os.Stat(path)
	if errors.Join(err, statErr) != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}
