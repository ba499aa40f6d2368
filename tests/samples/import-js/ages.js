// One line that is tested and one that is not.

exports.isAdult = (age) => age >= 18;

exports.isSenior = (age) => age > 65;
