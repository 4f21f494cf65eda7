package env

// UserName returns the name of the user who runs this, or "".
func (e *Env) UserName() string {
	for _, variable := range []string{"USER", "LOGNAME", "USERNAME"} {
		if name := e.Variable(variable); name != "" && len(name) <= 64 {
			return name
		}
	}
	return ""
}
