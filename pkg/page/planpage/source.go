package planpage

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
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

// Selected returns the entries of the configuration that a plan has, as a configuration with its text: those of catalogs and
// of rules for tags. Both are nil if there are none.
func Selected(p *plan.Plan) (*imageset.Config, *page.Source) {
	var b strings.Builder
	b.WriteString("# What the plan has of its configuration: catalogs, and rules for tags.\nkind: " + imageset.Kind + "\napiVersion: " + imageset.APIVersion + "\nmirror:\n")
	entries := 0
	list := func(name string, all []json.RawMessage) {
		for i, entry := range all {
			text, err := yaml.JSONToYAML(entry)
			if err != nil {
				continue // the plan was checked
			}
			if i == 0 {
				b.WriteString("  " + name + ":\n")
			}
			begin := "    - "
			for line := range strings.Lines(string(text)) {
				b.WriteString(begin + line)
				begin = "      "
			}
			entries++
		}
	}
	var operators, images []json.RawMessage
	for _, c := range p.Catalogs {
		if c.VariantOf == "" {
			operators = append(operators, c.Selection)
		}
	}
	for _, r := range p.TagRules {
		images = append(images, r.Selection)
	}
	list("operators", operators)
	list("additionalImages", images)
	const name = "the plan"
	cfg, err := imageset.Parse(name, []byte(b.String()))
	if entries == 0 || err != nil {
		return nil, nil
	}
	return cfg, Text(name, []byte(b.String()))
}
