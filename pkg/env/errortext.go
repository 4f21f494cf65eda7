package env

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
)

// ErrorText returns an error with its hint, for a list of results.
func ErrorText(err error) string {
	text, hint := redact.Text(err.Error()), advice.Hint(err)
	if hint == "" || strings.Contains(text, hint) {
		return text
	}
	return text + "; " + hint
}
