package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/ocmirror"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
)

// flagError returns the error for a wrong flag, with the replacement if it is a flag of oc mirror.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
			if found := below(cmd, args); len(found) > 0 {
				return usageHint("write "+strings.Join(found, " or ")+" with the same flags", "unknown command %q for %q", redact.Text(args[0]), cmd.CommandPath())
			}
		}
		switch flag, ok := ocmirror.Lookup(unknown.GetSpecifiedName()); {
		case ok && flag.Instead() == "":
			return usageHint(withoutFlag(cmd, flag.Name), "%s has no flag --%s", cmd.CommandPath(), flag.Name)
		case ok:
			return usageHint(flag.Instead(), "the flag --%s of oc mirror is not supported", flag.Name)
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near := suggest.Nearest(unknown.GetSpecifiedName(), names); len(near) > 0 && len(unknown.GetSpecifiedName()) > 1 {
			return usageHint(fmt.Sprintf("did you mean \"--%s\"?; run %s --help", near[0], cmd.CommandPath()), "%w", err)
		}
	}
	if without, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return seeHelp(cmd, usagef("--%s has no value", without.GetFlag().Name))
	}
	var invalid *pflag.InvalidValueError
	if form, ok := errors.AsType[*formError](err); errors.As(err, &invalid) && ok {
		return usagef("--%s: %w", invalid.GetFlag().Name, form)
	}
	if invalid != nil {
		return usageHint(valueForm(invalid), "--%s %q", invalid.GetFlag().Name, redact.Text(invalid.GetValue()))
	}
	return seeHelp(cmd, err)
}

// valueForm says what the flag of a wrong value takes.
func valueForm(wrong *pflag.InvalidValueError) string {
	cause, kind := errors.Unwrap(wrong), wrong.GetFlag().Value.Type()
	switch {
	case strings.HasPrefix(cause.Error(), "time: "):
		return "write a number and a unit: 30s, 5m, 1h"
	case !errors.As(cause, new(*strconv.NumError)):
		return cause.Error() // which says it
	case kind == "bool":
		return "write true or false, or leave the value out"
	default:
		return "write a whole number"
	}
}
