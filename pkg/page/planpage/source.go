package planpage

import (
	"regexp"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/page"
)

// secretField matches a field whose name says that it is secret, with its value.
var secretField = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)((?:^|[\s{,"'-])[\w.-]*(?:passw|pwd|token|secret|credential|api_?key|private_?key)[\w.-]*["']?\s*:)(\s*)("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s{][^{]*|)`)
})

// hidden replaces secret values.
const hidden = "[redacted]"

// Text returns the lines of a configuration without secrets: values of fields whose names say that they are secret, such as
// those of charts, and passwords in addresses. It has as many lines as the text.
func Text(name string, text []byte) *page.Source {
	s := &page.Source{Name: redact.Text(name)}
	secretAt := -1 // the indent of a secret field, whose value is below it
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		below := indent > secretAt || indent == secretAt && strings.HasPrefix(line[indent:], "- ")
		if secretAt >= 0 && (below || line[indent:] == "") {
			if line[indent:] != "" {
				line = line[:indent] + hidden
			}
			s.Lines = append(s.Lines, line)
			continue
		}
		secretAt = -1
		if m := secretField().FindStringSubmatchIndex(line); m != nil {
			value := strings.TrimSpace(line[m[6]:m[7]])
			if value == "" || strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") || strings.HasPrefix(value, "#") || strings.HasPrefix(line[m[7]:], "{") || strings.HasPrefix(value, "&") {
				secretAt = indent + strings.Count(line[indent:m[3]], "- ")*2
				if strings.HasPrefix(line[m[7]:], "{") {
					line = line[:m[5]] + hidden
				}
			} else {
				line = line[:m[5]] + hidden
			}
		}
		s.Lines = append(s.Lines, redact.Text(line))
	}
	return s
}
