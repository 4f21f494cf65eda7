package main

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/pkg/space"
)

// A hintError keeps what to do about an error apart from what happened. People
// read both as one text, join between them.
type hintError struct {
	err  error
	join string // ": ", "; " or a new line
	hint string
}

func (e *hintError) Error() string { return e.err.Error() + e.join + e.hint }
func (e *hintError) Unwrap() error { return e.err }

// Hint says what to do.
func (e *hintError) Hint() string { return e.hint }

// checkPath is what to do where a file that a flag names is not there.
const checkPath = "check the path, which is relative to the working directory"

// advised adds what to do to errors that nobody on the way had advice for.
func advised(err error) error {
	if space.IsFull(err) && hintOf(err) == "" {
		return &hintError{err, "; ", "make room there and run the same command again; of a workspace, the folder cache may be removed at any time"}
	}
	var usage *usageError
	var request *carry.RequestError
	var file *fs.PathError
	if (errors.As(err, &usage) || errors.As(err, &request)) && errors.As(err, &file) && errors.Is(file, fs.ErrNotExist) && hintOf(err) == "" {
		return &hintError{err, "; ", checkPath}
	}
	var distrust *gpg.DistrustError
	if errors.As(err, &distrust) && !distrust.Unknown && hintOf(err) == "" {
		return &hintError{err, "\n", "say where else its signatures are with mirror.platform.signatureStores, or with --release-key whose signatures count; --ignore-release-signature takes it as it comes, whoever made it"}
	}
	return adviseIdentity(err)
}

// adviseWorkspace adds what to do where a workspace cannot be written to.
func adviseWorkspace(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &hintError{err, "; ", "name a folder that can be written to with --workspace"}
	}
	return err
}

// hintOf finds the advice in an error; "" where it has none.
func hintOf(err error) string {
	var hinting interface{ Hint() string }
	var answer *remote.Error
	var config *imageset.Error
	switch {
	case errors.As(err, &hinting):
		return hinting.Hint()
	case errors.As(err, &answer):
		return answer.Hint
	case errors.As(err, &config) && len(config.Problems) == 1:
		return config.Problems[0].Hint
	}
	return ""
}

// splitHint divides the text of an error into what happened and what to do. Where
// the advice stands in the middle, it stays there, too.
func splitHint(err error) (message, hint string) {
	message, hint = err.Error(), hintOf(err)
	if rest, ok := strings.CutSuffix(message, hint); ok && hint != "" {
		message = strings.TrimRight(rest, ":; \n")
	}
	return message, strings.TrimPrefix(hint, "see: ")
}
