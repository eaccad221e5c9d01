"""The calls of Confluent's REST API, and of Apicurio's: which there are, what each asks, and what is answered again."""
