package main

import (
	"cmp"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// checkPath is the hint for a file that a flag names and that does not exist.
const checkPath = "check the path, which is relative to the working directory"

// advised adds a hint to errors that have none yet and whose remedy only the command knows.
func advised(err error) error {
	if err == nil || hintOf(err) != "" {
		return err
	}
	var file *fs.PathError
	switch {
	case space.IsFull(err):
		return advice.Wrap(advice.NoSpace, err, "free some space and run the same command again; the folder cache of a workspace may be removed at any time")
	case !errors.As(err, &file):
		return err
	case advice.KindOf(err) == advice.Input && errors.Is(file, fs.ErrNotExist):
		return advice.Wrap(advice.Input, err, checkPath)
	}
	for cause, hint := range fileHints() {
		if errors.Is(file, cause) {
			return advice.Wrap(advice.KindOf(err), err, hint)
		}
	}
	return err
}

// fileHints returns what to do about errors of the operating system about files.
func fileHints() map[error]string {
	return map[error]string{
		syscall.ENOTDIR:  "a part of the path is a file: name a folder",
		syscall.EISDIR:   "name a file in the folder",
		syscall.ELOOP:    "the symbolic links lead in a circle: name the file itself",
		syscall.EROFS:    "the file system is read-only: name a folder elsewhere, or mount it so that it can be written to",
		fs.ErrPermission: "check the permissions of the file and its folder, and the user that runs gantry",
	}
}

// hintOf returns the hints of an error as one text, or "" if it has none.
func hintOf(err error) string {
	if first, ok := errors.AsType[advice.Adviser](err); ok {
		if kind, hint := first.Advice(); kind == advice.Partial && hint != "" {
			return hint // the hints of its causes were printed with them
		}
	}
	if hints := advice.Hints(err); len(hints) > 0 {
		return strings.Join(hints, "; ")
	}
	var hinting interface{ Hint() string }
	var config *imageset.Error
	switch {
	case errors.As(err, &hinting):
		return hinting.Hint()
	case errors.As(err, &config) && len(config.Problems) == 1:
		return config.Problems[0].Hint
	}
	return ""
}

// splitHint returns what happened and what to do about it, without passwords and tokens. Options are
// named by their flags.
func splitHint(err error) (message, hint string) {
	message, hint = err.Error(), hintOf(err)
	if rest, ok := strings.CutSuffix(message, hint); ok && hint != "" {
		message = strings.TrimRight(rest, ":; \n")
	}
	return redact.Text(flagNames(message)), redact.Text(flagNames(hint))
}

// errorLine returns an error as one text for people: what happened, then what to do about it.
func errorLine(err error) string {
	message, hint := splitHint(err)
	if hint == "" || strings.Contains(message, hint) {
		return message
	}
	return message + "; " + hint
}

// optionName is an option as packages below this one name it: the field of an option struct.
var optionName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:[a-z]+\.)?[A-Za-z]*Options\.((?:(?:Source|Destination)\.)?[A-Z][A-Za-z0-9]*)`)
})

// flagOf has the flags whose names do not follow from those of the options.
var flagOf = map[string]string{
	"SummaryFile": "summary", "OpenShift": "version", "Bases": "base", "Since": "base", "Full": "base none", "Receipts": "base",
	"CheckBlobs": "blobs=check", "ReadBlobs": "blobs=read", "RepairMissing": "blobs=repair",
	"AuthFile": "authfile", "SkipTLSVerify": "tls-verify=false", "Rate": "limit-rate", "ReleaseKeys": "release-key", "Identities": "identity", "RegistriesD": registriesDFlag,
}

// flagOfSide has the first part of the flags for one side of a run.
var flagOfSide = map[string]string{"Source": "src-", "Destination": "dest-"}

// flagNames replaces the names of options in a text by the flags that set them: Options.CheckBlobs
// is --blobs=check, and Options.Source.PlainHTTP is --src-plain-http.
func flagNames(text string) string {
	return optionName().ReplaceAllStringFunc(text, func(name string) string {
		_, name, _ = strings.Cut(name, "Options.")
		side, field, ok := strings.Cut(name, ".")
		if !ok {
			side, field = "", name
		}
		return "--" + flagOfSide[side] + cmp.Or(flagOf[field], kebab(field))
	})
}

// wordStart matches where a word begins in camel case: "checkBlobs", "TLSVerify".
var wordStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`) })

// kebab returns a name in camel case as words in lower case with dashes between them.
func kebab(name string) string {
	return strings.ToLower(wordStart().ReplaceAllString(name, "$1$3-$2$4"))
}
