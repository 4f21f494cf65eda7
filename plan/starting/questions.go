package starting

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/env"
)

// OperatorFlag is the flag of the question for operators.
const OperatorFlag = "operator"

// None is the answer to a question that is left out.
const None = "none"

// DefaultVersion is the minor version of OpenShift that is the default answer.
const DefaultVersion = "4.20"

// A Question is one of the five questions, in the order in which they are asked.
type Question struct {
	// Flag is the name of the flag that answers it.
	Flag string
	Text string
	// Default returns the answer that is used if none is given, or "" if there is no need to ask.
	Default func(*Options) string
	// Set stores an answer, which is not empty. If it is wrong, the error says what to write.
	Set func(o *Options, answer string) error
}

// Questions returns the questions.
func Questions() []Question {
	return []Question{
		{
			Flag: "version", Text: "Minor version of OpenShift, or none for another Kubernetes",
			Default: func(*Options) string { return DefaultVersion },
			Set:     setVersion,
		},
		{
			Flag: "platform", Text: "Channel of platform releases, or none",
			Default: func(o *Options) string {
				if o.Version == "" {
					return ""
				}
				return "stable-" + o.Version
			},
			Set: func(o *Options, answer string) error {
				o.Platform = unlessNone(answer)
				return o.check()
			},
		},
		{
			Flag: "catalog", Text: "Catalog of operators, or none (several with commas)",
			Default: func(o *Options) string {
				if o.Version == "" {
					return "quay.io/operatorhubio/catalog:latest"
				}
				return "registry.redhat.io/redhat/redhat-operator-index:v" + o.Version
			},
			Set: func(o *Options, answer string) error {
				o.Catalogs = list(answer)
				return o.check()
			},
		},
		{
			Flag: OperatorFlag, Text: "Operators, NAME or NAME=CHANNEL, or none (several with commas)",
			Default: func(o *Options) string {
				if len(o.Catalogs) == 0 {
					return ""
				}
				return None
			},
			Set: func(o *Options, answer string) error {
				o.Operators = list(answer)
				return o.check()
			},
		},
		{
			Flag: "image", Text: "Other images, or none (several with commas)",
			Default: func(*Options) string { return None },
			Set: func(o *Options, answer string) error {
				o.Images = list(answer)
				return o.check()
			},
		},
	}
}

func setVersion(o *Options, answer string) error {
	o.Version = strings.TrimPrefix(unlessNone(answer), "v")
	if o.Version != "" && !regexp.MustCompile(`^[0-9]+\.[0-9]+$`).MatchString(o.Version) {
		return env.InputHint("write the minor version as 4.20, or none", "%q is no minor version", answer)
	}
	return nil
}

func unlessNone(answer string) string {
	if answer = strings.TrimSpace(answer); strings.EqualFold(answer, None) {
		return ""
	}
	return answer
}

// list splits an answer at commas. An answer of none is an empty list.
func list(answer string) (all []string) {
	for part := range strings.SplitSeq(unlessNone(answer), ",") {
		if part = unlessNone(part); part != "" && !slices.Contains(all, part) {
			all = append(all, part)
		}
	}
	return all
}

// check returns an error if an answer so far is no valid text of a configuration. Catalogs are not read.
func (o *Options) check() error {
	c := o.draft(nil)
	if c.empty() {
		return nil
	}
	text, err := c.Config.YAML(nil)
	if err == nil {
		_, err = parse(text)
	}
	return err
}
