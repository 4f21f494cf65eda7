package imageset

// MarshalJSON writes the configuration as Parse reads it, without positions and unset fields.
func (c Config) MarshalJSON() ([]byte, error) { return configObject().encode(&c), nil }

// MarshalJSON writes the entry as ParseOperator reads it, without positions and unset fields.
func (o Operator) MarshalJSON() ([]byte, error) { return operatorObject().encode(&o), nil }

// MarshalJSON writes the entry as ParseImage reads it, without positions and unset fields.
func (i Image) MarshalJSON() ([]byte, error) { return imageObject().encode(&i), nil }
