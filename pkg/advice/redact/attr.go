package redact

import "log/slog"

// Attr is Text for a message or an attribute of a log. It is a ReplaceAttr of slog.HandlerOptions.
func Attr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(Text(v))
	case error:
		a.Value = slog.StringValue(Text(v.Error()))
	}
	return a
}
