mod golden;
mod rules;
